#include "cli/flags/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/flags/command_line.h"

namespace stitch {

namespace {

constexpr int widest_name = 26;  // a longer one has a line to itself
constexpr int narrowest_text = 30;

struct HelpRow {
  std::string name, text;
};

std::string in_columns(const std::vector<HelpRow>& rows, const Terminal& terminal) {
  int names = 0;
  for (const HelpRow& row : rows)
    if (const int width = display_width(row.name); width <= widest_name) names = std::max(names, width);
  const int room = std::max(terminal.width - 2 - names - 2, narrowest_text);
  std::string out;
  for (const HelpRow& row : rows) {
    std::string line = "  " + row.name;
    bool first = display_width(row.name) <= names;
    if (!first) out += line + '\n';
    for (const std::string& text : wrapped(row.text, room)) {
      if (!first) line = "  ";
      const int used = display_width(line) - 2;
      out += line + std::string(static_cast<size_t>(std::max(0, names - used) + 2), ' ') + text + '\n';
      first = false;
    }
  }
  return out;
}

// What follows the first line stands below its second word.
std::string usage_line(const std::string& usage, const Terminal& terminal) {
  std::string out;
  for (const std::string& line : wrapped(usage, std::max(terminal.width - 7, narrowest_text)))
    out += (out.empty() ? "" : "         ") + line + '\n';
  return out;
}

std::string numerics_section(const CLI::App& app, const Terminal& terminal) {
  if (!app.get_option_no_throw("--numerics")) return "";
  std::vector<HelpRow> rows;
  for (const NumericsLine& line : numerics_lines())
    rows.push_back({std::string(line.name), std::string(line.budget)});
  std::string out = in_columns(rows, terminal);
  for (const std::string& line : wrapped(numerics_note, std::max(terminal.width - 2, narrowest_text)))
    out += "  " + line + '\n';
  return out;
}

}  // namespace

std::string spelling_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const bool takes = option.get_items_expected_max() > 0;
  return join(names, ", ") + (takes ? ' ' + split(option.get_type_name(), ':').front() : "");
}

std::string usage_of(const CLI::App& app) {
  std::string out = app.get_parent() ? "stitchcuda " + app.get_name() : "stitchcuda COMMAND";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      std::string name = option->get_name(true) + (option->get_items_expected_max() > 1 ? "…" : "");
      out += option->get_required() ? ' ' + name : " [" + name + "]";
    } else if (option->get_required()) {
      const std::string spelling = spelling_of(*option);
      const size_t comma = spelling.find(", "), value = spelling.rfind(' ');
      out +=
          ' ' + (comma == std::string::npos ? spelling : spelling.substr(0, comma) + spelling.substr(value));
    }
  }
  return out + " [flags]";
}

std::vector<FlagGroup> flags_by_group(const CLI::App& app) {
  std::vector<FlagGroup> out;
  const std::string usual =
      app.get_help_ptr()->get_group();  // CLI11 spells it otherwise from version to version
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    const std::string title = option->get_group() == usual ? "Flags" : option->get_group();
    auto group = std::ranges::find(out, title, &FlagGroup::title);
    if (group == out.end()) group = out.insert(out.end(), {title, {}});
    group->flags.push_back(option);
  }
  return out;
}

// Our own, because CLI11's looks otherwise from version to version.
std::string help_text(const CLI::App& app, const Terminal& terminal) {
  std::vector<HelpRow> positionals, commands;
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) positionals.push_back({option->get_name(true), option->get_description()});
  for (const CLI::App* command : app.get_subcommands({}))
    commands.push_back({command->get_name(), command->get_description()});
  auto section = [&](std::string_view title, const std::string& body) {
    return body.empty() ? "" : "\n" + styled(title, Style::bold, terminal) + "\n" + body;
  };
  std::string out;
  for (const std::string& line : wrapped(app.get_description(), terminal.width)) out += line + '\n';
  out += "\n" + styled("Usage", Style::bold, terminal) + "  " + usage_line(usage_of(app), terminal);
  if (!positionals.empty()) out += "\n" + in_columns(positionals, terminal);
  out += section("Commands", in_columns(commands, terminal));
  for (const FlagGroup& group : flags_by_group(app)) {
    std::vector<HelpRow> rows;
    for (const CLI::Option* flag : group.flags) rows.push_back({spelling_of(*flag), flag->get_description()});
    out += section(group.title, in_columns(rows, terminal));
  }
  out += section("Numerics classes", numerics_section(app, terminal));
  std::string examples;
  for (const std::string& line : split(app.get_footer(), '\n')) examples += "  " + line + "\n";
  return out + section("Examples", examples);
}

}  // namespace stitch
