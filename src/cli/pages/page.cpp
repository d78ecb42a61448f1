#include "cli/pages/page.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file.h"
#include "program/package.h"

namespace stitch {

// Made from files/ by cmake/embed.cmake.
extern const std::string_view embedded_viewer_html, embedded_viewer_css, embedded_kit_js, embedded_layout_js,
    embedded_graph_js, embedded_profile_js, embedded_report_js, embedded_many_js;

namespace {

// As the viewer's scripts name them.
std::string_view name(View view) {
  switch (view) {
    case View::show: return "show";
    case View::plan: return "plan";
    case View::optimize: return "optimize";
    case View::profile: return "profile";
    case View::bench: return "bench";
    case View::run: return "run";
    case View::verify_all: return "verify_all";
    case View::train: return "train";
    case View::service: return "service";
  }
  return "";
}

// No text of others can end the script element or begin a comment in it: JSON spells every '<' otherwise.
std::string inside_script(const Json& document) {
  std::string out;
  for (char c : line_text(document)) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

}  // namespace

std::string page(View view, const Json& document) {
  std::string out;
  std::string_view rest = embedded_viewer_html;
  auto fill = [&](std::string_view place, std::initializer_list<std::string_view> parts) {
    const size_t at = rest.find(place);
    require(at != rest.npos, "viewer.html has each place once, in this order");
    out += rest.substr(0, at);
    for (std::string_view part : parts) out += part;
    rest.remove_prefix(at + place.size());
  };
  fill("{{css}}", {embedded_viewer_css});
  fill("{{view}}", {name(view)});
  fill("{{document}}", {inside_script(document)});
  fill("{{js}}", {embedded_kit_js, embedded_layout_js, embedded_graph_js, embedded_profile_js,
                  embedded_report_js, embedded_many_js});
  return out.append(rest);
}

Json sources_of(const Package& package) {
  constexpr size_t most = 400'000;
  Json out = Json::object();
  for (const fs::path& source : package.sources)
    if (auto text = read_file(source); text && text->size() <= most)
      out[source.lexically_relative(package.folder).generic_string()] = *std::move(text);
  return out;
}

}  // namespace stitch
