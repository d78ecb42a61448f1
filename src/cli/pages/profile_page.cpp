#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/pages/html.h"
#include "cli/commands/profile_document.h"

namespace stitch {

// Made from page/profile.* by cmake/embed.cmake.
extern const std::string_view embedded_profile_css, embedded_profile_js;

namespace {

constexpr size_t most_boxes = 20'000;  // of a side

// A box as profile.js draws it. On a side without times each is as long as the next.
Json box_json(const Json& activity, bool host, size_t number, bool timed) {
  const std::string whole = word(activity, "name");
  Json out = {
      {"name", whole},
      {"short", profile::short_name(whole)},
      {"kind", word(activity, "kind")},
      {"host", host},
      {"stream", activity.value("stream", int64_t{0})},
      {"colour", std::hash<std::string>()(whole) % 97},
      {"start", timed ? activity.value("start_ns", int64_t{0}) : static_cast<int64_t>(number) * 1000},
      {"end", timed ? activity.value("end_ns", int64_t{0}) : static_cast<int64_t>(number) * 1000 + 900}};
  for (auto [from, to] : {std::pair{"grid", "grid"},
                          {"block", "block"},
                          {"registers", "registers"},
                          {"shared_bytes", "shared"},
                          {"bytes", "bytes"},
                          {"counters", "counters"}})
    if (activity.contains(from)) out[to] = activity[from];
  return out;
}

Json data_of(const Json& document, const std::map<std::string, std::string>& sources) {
  Json out = {{"sides", Json::array()}};
  for (const Json& side : document.at("sides")) {
    const Json& timeline = side.at("timeline");
    const bool timed = word(side, "times") != "none";
    Json one = {{"side", word(side, "side")}, {"title", word(side, "title")}, {"times", word(side, "times")}};
    Json& boxes = one["boxes"] = Json::array();
    if (timed)
      for (const Json& call : timeline.at("host"))
        if (boxes.size() < most_boxes / 2) boxes.push_back(box_json(call, true, 0, true));
    const Json& activities = timeline.at("activities");
    for (size_t i = 0; i < activities.size() && boxes.size() < most_boxes; ++i) {
      Json box = box_json(activities[i], false, i, timed);
      if (side.contains("owners")) box["region"] = side["owners"][i];
      boxes.push_back(std::move(box));
    }
    for (const Json& region : side.value("regions", Json::array())) {
      Json entry = {{"name", word(region, "name")}, {"file", word(region, "file")}};
      if (auto file = sources.find(word(region, "file")); file != sources.end())
        entry["source"] = std::distance(sources.begin(), file);
      if (region.contains("lines")) entry["lines"] = region["lines"];
      if (region.contains("diagnosis"))
        entry["bound"] = format("{}: {}", word(region["diagnosis"], "bottleneck"),
                                word(region["diagnosis"], "suggestion"));
      one["regions"].push_back(std::move(entry));
    }
    out["sides"].push_back(std::move(one));
  }
  return out;
}

// Inside a script element: no text of others may end it.
std::string as_script_data(const Json& data) {
  std::string out;
  for (char c : data.dump(-1, ' ', true, Json::error_handler_t::replace))
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

std::vector<std::pair<std::string, std::string>> facts_of(const Json& document) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Json& side : document.at("sides")) {
    const Json& summary = side.at("summary");
    const std::string who = word(side, "side"), times = word(side, "times");
    const double span = summary.at("span_ns").get<double>() * 1e-9;
    if (const double call = side.value("seconds_a_call", 0.0); call > 0)
      out.emplace_back(seconds_text(call), format("{} per call, {}", who, times));
    else if (span > 0)
      out.emplace_back(seconds_text(span), format("{} per call on the device, {}", who, times));
    out.emplace_back(std::to_string(summary.at("kernels").get<int>()), format("kernels, {}", who));
    if (times == "measured")
      out.emplace_back(format("{:.0f} %", 100 * summary.at("idle_share").get<double>()),
                       format("device idle, {}", who));
    out.emplace_back(word(side.at("diagnosis"), "bottleneck") + "-bound", who);
  }
  out.emplace_back(word(document, "gpu"),
                   word(document, "device") == "cuda" ? "GPU" : "GPU of the estimates");
  return out;
}

std::string profiled_cell(const std::string& column, std::string_view look, const std::string& html) {
  return format("<td class=\"{}\" data-column=\"{}\">{}</td>", look, escaped(column), html);
}

std::string region_rows(const Json& side, const std::map<std::string, std::string>& sources) {
  std::string out;
  const Json& regions = side.at("regions");
  for (size_t i = 0; i < regions.size(); ++i) {
    const Json& region = regions[i];
    const std::string file = word(region, "file");
    auto source = sources.find(file);
    std::string place = escaped(file);
    if (source != sources.end())
      place = format("<a href=\"#source-{}\">{}</a>", std::distance(sources.begin(), source), place);
    std::vector<std::string> lines;
    for (const Json& line : region.value("lines", Json::array()))
      lines.push_back(escaped(line.get<std::string>()));
    const Json diagnosis = region.value("diagnosis", Json::object());
    const double seconds = region.value("seconds", 0.0), gain = diagnosis.value("expected_gain_seconds", 0.0);
    out += format("<tr id=\"region-{}\">", i) +
           profiled_cell("region", "text", escaped(word(region, "name"))) +
           profiled_cell("time", "n", seconds > 0 ? seconds_text(seconds) : "–") +
           profiled_cell("share", "n",
                         diagnosis.empty() ? "" : format("{:.0f} %", 100 * diagnosis.value("share", 0.0))) +
           profiled_cell("launches", "n", std::to_string(region.value("launches", 0))) +
           profiled_cell("bound by", "", escaped(word(diagnosis, "bottleneck"))) +
           profiled_cell("gain", "n", is_worth(gain, seconds) ? seconds_text(gain) : "") +
           profiled_cell("technique", "text", escaped(word(region, "technique"))) +
           profiled_cell("source", "text", place) + profiled_cell("model", "text", join(lines, "<br>")) +
           "</tr>\n";
  }
  return out;
}

std::string profiled_regions(const Json& side, const std::map<std::string, std::string>& sources) {
  std::string out = "<h2>Regions of the program</h2>";
  std::vector<std::vector<HtmlCell>> suggestions;
  for (const Suggestion& each : suggestions_of(side))
    suggestions.push_back({{each.regions, "text"}, {each.text, "long"}, {seconds_text(each.gain), "n"}});
  if (!suggestions.empty()) out += html_table({"regions", "suggestion", "gain, at most"}, suggestions);
  out += "<div class=\"scroll\"><table><thead><tr>";
  for (auto [title, look] : {std::pair{"region", ""},
                             {"time", "n"},
                             {"share", "n"},
                             {"launches", "n"},
                             {"bound by", ""},
                             {"gain", "n"},
                             {"technique", ""},
                             {"source", ""},
                             {"model", ""}})
    out += format("<th class=\"{}\">{}</th>", look, title);
  return out + "</tr></thead><tbody>\n" + region_rows(side, sources) + "</tbody></table></div>\n";
}

std::string kernels_part(const Json& side) {
  std::vector<std::vector<HtmlCell>> rows;
  const Json& by_name = side.at("summary").at("by_name");
  for (size_t i = 0; i < std::min<size_t>(by_name.size(), 100); ++i) {
    const double seconds = by_name[i].at("nanoseconds").get<double>() * 1e-9;
    rows.push_back({{word(by_name[i], "name"), "text"},
                    {std::to_string(by_name[i].at("count").get<int>()), "n"},
                    {seconds > 0 ? seconds_text(seconds) : "–", "n"}});
  }
  return format("<h2>Kernels of {}</h2>", side.at("side") == "PyTorch" ? "PyTorch" : "the program") +
         html_table({"kernel", "launches", "time"}, rows);
}

std::string metrics_part(const Json& side) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const Json& kernel : side.value("metrics", Json::array()))
    for (const auto& [metric, value] : kernel.at("values").items())
      rows.push_back({{profile::short_name(word(kernel, "kernel")), "text"},
                      {metric, "text"},
                      {number_text(value.get<double>()), "n"}});
  if (rows.empty()) return "";
  std::string out = format("<h2>Metrics</h2><details><summary>{} values of {} kernels</summary>", rows.size(),
                           side["metrics"].size());
  if (std::string missing = word(side, "counters_missing"); !missing.empty())
    out += format("<p class=\"note\">{}</p>", escaped(missing));
  return out + html_table({"kernel", "metric", "value"}, rows) + "</details>";
}

std::string diagnosis_part(const Json& side) {
  auto diagnosis = profile::diagnosis_from_json(side.at("diagnosis"));
  std::string out;
  if (diagnosis)
    out = format("<p class=\"diagnosis\"><b>{}</b>: {}</p>", escaped(word(side, "side")),
                 escaped(text(*diagnosis)));
  if (std::string note = word(side, "note"); !note.empty())
    out += format("<p class=\"note\">{}</p>", escaped(note));
  return out;
}

}  // namespace

std::string profile_page(const Json& document, const std::map<std::string, std::string>& sources) {
  const std::string model = word(document, "model"), program = word(document, "program");
  const fs::path place = fs::path(model.empty() ? program : model).lexically_normal();
  std::string body = format("<style>\n{}\n</style>\n", embedded_profile_css) + html_facts(facts_of(document));
  body +=
      "<h2>One call</h2>\n<div class=\"bar\"><button data-do=\"in\">Zoom in</button><button "
      "data-do=\"out\">Zoom "
      "out</button><button data-do=\"whole\">Whole call</button><button "
      "data-do=\"previous\">Previous</button>"
      "<button data-do=\"next\">Next</button><button data-do=\"longest\">Longest</button>"
      "<span>Drag to pan, Ctrl + wheel or pinch to zoom; keys: arrows, + − 0, n p l</span></div>\n"
      "<canvas id=\"timeline\" tabindex=\"0\" role=\"application\" aria-label=\"Timelines of one call; the "
      "tables below "
      "have the same kernels\"></canvas>\n<div id=\"chosen\" aria-live=\"polite\">Choose a kernel to see its "
      "launch, region, source and the model's line.</div>\n";
  std::string tables;
  for (const Json& side : document.at("sides")) {
    body += diagnosis_part(side);
    if (side.contains("regions") && !side["regions"].empty()) tables += profiled_regions(side, sources);
    tables += kernels_part(side) + metrics_part(side);
  }
  for (const Json& note : document.value("notes", Json::array()))
    body += format("<p class=\"note\">{}</p>", escaped(note.get<std::string>()));
  body += tables;
  if (!sources.empty()) body += "<h2>Sources</h2>\n";
  size_t number = 0;
  for (const auto& [file, source] : sources)
    body += format(
        "<details id=\"source-{}\"><summary><code>{}</code></summary><pre><code>{}</code></pre></details>\n",
        number++, escaped(file), escaped(source));
  body += format("<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{}\n</script>\n",
                 as_script_data(data_of(document, sources)), embedded_profile_js);
  return html_page("Profile of " + (place.has_filename() ? place : place.parent_path()).filename().string(),
                   body);
}

}  // namespace stitch
