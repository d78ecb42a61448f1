// stitchcuda config: which defaults are set, and where.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/flags/command_line.h"
#include "cli/flags/settings.h"

namespace stitch {

namespace {

struct ConfigRow {
  std::string command, flag, value, origin;
  bool set = false;
};

// "180" of "… (default: 180)".
std::string default_of(const CLI::Option& option) {
  const std::string about = option.get_description();
  constexpr std::string_view mark = "(default: ";
  const size_t from = about.rfind(mark), to = about.find(')', from);
  if (from == std::string::npos) return option.get_items_expected_max() == 0 ? "false" : "";
  return about.substr(from + mark.size(), to - from - mark.size());
}

std::vector<ConfigRow> rows_of(const CLI::App& app, const Settings& settings, const std::string& only) {
  std::vector<ConfigRow> out;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!only.empty() && command->get_name() != only) continue;
    for (const CLI::Option* option : command->get_options()) {
      if (!may_be_set(*option)) continue;
      const std::string flag = option->get_lnames().front();
      const Setting* setting = settings.find(command->get_name(), flag);
      if (!setting && only.empty()) continue;
      out.push_back({command->get_name(), flag, setting ? join(setting->values, ", ") : default_of(*option),
                     setting ? setting->origin : "default", setting != nullptr});
    }
  }
  return out;
}

Json to_json(const std::vector<ConfigRow>& rows, const Settings& settings) {
  Json out = {{"files", Json::array()}, {"settings", Json::array()}};
  for (const SettingsFile& file : settings.files)
    out["files"].push_back({{"path", file.path}, {"scope", file.scope}, {"found", file.found}});
  for (const ConfigRow& row : rows)
    out["settings"].push_back(
        {{"command", row.command}, {"flag", row.flag}, {"value", row.value}, {"from", row.origin}});
  if (!settings.warnings.empty()) out["warnings"] = settings.warnings;
  return out;
}

std::string to_text(const std::vector<ConfigRow>& rows, const Settings& settings, const std::string& command,
                    const Terminal& terminal) {
  std::string out;
  for (const SettingsFile& file : settings.files)
    out += format("{} file: {}{}\n", file.scope, printable(file.path), file.found ? "" : " (not there)");
  Table table({{.header = "command"},
               {.header = "flag"},
               {.header = "value", .least = 12, .wrap = true},
               {.header = "from", .least = 12, .wrap = true}});
  for (const ConfigRow& row : rows)
    table.add_row({row.command,
                   "--" + row.flag,
                   printable(row.value),
                   {printable(row.origin), row.set ? Style::plain : Style::dim}});
  if (table.empty())
    return out +
           "Nothing is set: every flag has its default. stitchcuda init writes a file to start from; "
           "stitchcuda "
           "config COMMAND lists a command's defaults.\n";
  out += '\n' + table.render(terminal);
  if (command.empty()) out += "\nEverything else has its default: stitchcuda config COMMAND lists them.\n";
  return out;
}

Result<int> run_config(const std::string& command, Console& console) {
  CLI::App app;
  CommandLine line;
  add_command_line(app, line);
  const std::vector<std::string> names = command_names(app);
  if (!command.empty() && std::ranges::find(names, command) == names.end())
    return unknown_command(app, command);
  STITCH_TRY(const Settings settings, load_settings(app, llm::process_environment()));
  const std::vector<ConfigRow> rows = rows_of(app, settings, command);
  if (console.json) {
    console.out << document_text(to_json(rows, settings));
    return 0;
  }
  for (const std::string& warning : settings.warnings)
    console.err << "warning: " << printable(warning) << '\n';
  console.out << to_text(rows, settings, command, console.out_terminal);
  return 0;
}

}  // namespace

Run add_config(CLI::App& app) {
  const auto command = std::make_shared<std::string>();
  Flags flags(app, "config", "Show which defaults are set, and where: environment, project file, user file");
  flags("COMMAND", *command, "a command, to list all of its flags");
  flags.json();
  flags.examples(
      "stitchcuda config\n"
      "stitchcuda config optimize\n"
      "STITCHCUDA_NUMERICS=tf32 stitchcuda config --json");
  return [command](Console& console) { return run_config(*command, console); };
}

}  // namespace stitch
