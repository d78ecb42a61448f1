#include "cli/flags/settings.h"

#ifdef STITCH_HAVE_TOML

#include <toml++/toml.h>

#include "base/terminal/terminal.h"
#include "base/text.h"

namespace stitch {

namespace {

int line_of(const toml::source_region& region) { return static_cast<int>(region.begin.line); }

std::optional<std::string> scalar(const toml::node& node) {
  if (auto text = node.value_exact<std::string>()) return printable(*text) == *text ? text : std::nullopt;
  if (auto count = node.value_exact<int64_t>()) return std::to_string(*count);
  if (auto number = node.value_exact<double>()) return number_text(*number);
  if (auto on = node.value_exact<bool>()) return *on ? "true" : "false";
  return std::nullopt;
}

std::optional<std::vector<std::string>> values_of_node(const toml::node& node) {
  if (auto one = scalar(node)) return std::vector{*one};
  if (!node.is_array()) return std::nullopt;
  std::vector<std::string> out;
  for (const toml::node& each : *node.as_array()) {
    auto one = scalar(each);
    if (!one) return std::nullopt;
    out.push_back(*one);
  }
  return out;
}

Result<std::vector<FileSetting>> settings_in(const std::string& path, const toml::table& root) {
  std::vector<FileSetting> out;
  for (const auto& [section, node] : root) {
    const std::string name = printable(section.str());
    if (name == "llm") continue;  // llm/profiles/config_file.cpp reads it
    if (!node.is_table())
      return at(format("{}:{}", path, line_of(section.source())),
                user_error("config", format("'{}' is outside of any section", name),
                           "put it below [defaults] or the name of a command: [optimize]"));
    if (node.as_table()->empty())
      out.push_back({name, "", {}, line_of(section.source()), line_of(section.source())});
    for (const auto& [key, value] : *node.as_table()) {
      auto values = values_of_node(value);
      if (!values)
        return at(
            format("{}:{}", path, line_of(key.source())),
            user_error("config", format("{}.{} must be a string, a number, true or false, or a list of them",
                                        name, printable(key.str()))));
      out.push_back(
          {name, printable(key.str()), *std::move(values), line_of(section.source()), line_of(key.source())});
    }
  }
  return out;
}

}  // namespace

bool can_read_settings() { return true; }

Result<std::vector<FileSetting>> parse_settings(const std::string& path, std::string_view text) {
  // The packaged library is compiled with exceptions; they end here.
  try {
    return settings_in(path, toml::parse(text));
  } catch (const toml::parse_error& error) {
    return at(format("{}:{}", path, error.source().begin.line),
              user_error("config", "not valid TOML: " + printable(error.description())));
  }
}

}  // namespace stitch

#else

namespace stitch {

bool can_read_settings() { return false; }
Result<std::vector<FileSetting>> parse_settings(const std::string& path, std::string_view) {
  return at(path, work_error("config", "built without configuration files (toml++ was not found)"));
}

}  // namespace stitch

#endif
