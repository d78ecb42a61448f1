#include "cli/flags/settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/terminal/table.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "cli/commands/commands.h"

namespace stitch {

namespace {

constexpr std::string_view of_every_command = "defaults";

// Of one call, never of all.
constexpr std::array one_call = {"help", "version", "json", "force",  "out", "schema",
                                 "list", "show",    "plan", "replay", "seed"};
// Read by what needs them, also where there is no command line.
constexpr std::array read_by_others = {"STITCHCUDA_PYTHON", "STITCHCUDA_STORE"};

std::string long_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : option.get_lnames().front();
}

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

std::vector<std::string> settable_flags(const CLI::App& app, std::string_view section) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands({}))
    if (section == of_every_command || command->get_name() == section)
      for (const CLI::Option* option : command->get_options())
        if (may_be_set(*option) && std::ranges::find(out, long_name(*option)) == out.end())
          out.push_back(long_name(*option));
  return out;
}

void take_environment(Settings& out, const CLI::App& app, const llm::Environment& environment) {
  auto take = [&](const std::string& command, const std::string& flag) {
    const std::string name = variable_of(command, flag);
    const auto value = environment(name);
    if (!value || value->empty()) return;
    const bool elsewhere = std::ranges::find(read_by_others, name) != read_by_others.end();
    out.all.push_back({command, flag, {*value}, "$" + name, elsewhere});
  };
  for (const CLI::App* command : app.get_subcommands({}))
    for (const std::string& flag : settable_flags(app, command->get_name())) take(command->get_name(), flag);
  for (const std::string& flag : settable_flags(app, of_every_command)) take("", flag);
}

Error unknown_in_file(std::string place, std::string message, const std::string& word,
                      const std::vector<std::string>& known) {
  auto near = nearest(word, known);
  return at(std::move(place),
            user_error("config", std::move(message),
                       near ? format("did you mean {}?", *near) : "one of: " + join(known, ", ")));
}

Result<void> check(const CLI::App& app, const std::string& path, const FileSetting& setting) {
  const std::string place = format("{}:{}", path, setting.section_line);
  if (setting.section != of_every_command && !find_command(app, setting.section)) {
    std::vector<std::string> known = command_names(app);
    known.insert(known.begin(), {std::string(of_every_command), "llm"});
    return unknown_in_file(place, format("unknown section [{}]", setting.section), setting.section, known);
  }
  if (setting.key.empty()) return {};
  const std::vector<std::string> flags = settable_flags(app, setting.section);
  if (std::ranges::find(flags, setting.key) != flags.end()) return {};
  return unknown_in_file(format("{}:{}", path, setting.line),
                         format("unknown setting '{}' in [{}]", setting.key, setting.section), setting.key,
                         flags);
}

Result<void> take_file(Settings& out, const CLI::App& app, const std::string& path, const char* scope) {
  std::error_code ec;
  SettingsFile file{path, scope, fs::exists(path, ec)};
  out.files.push_back(file);
  if (!file.found) return {};
  STITCH_TRY(const std::string text, read_file(path));
  if (!can_read_settings()) {
    // Profiles of language models have a reader that says so itself.
    for (const std::string& line : split(text, '\n'))
      if (line.starts_with('[') && !line.starts_with("[llm")) {
        out.warnings.push_back(format("ignored {}: {}", path, parse_settings(path, "").error().message));
        break;
      }
    return {};
  }
  STITCH_TRY(std::vector<FileSetting> settings, parse_settings(path, text));
  for (const FileSetting& setting : settings) STITCH_CHECK(check(app, path, setting));
  for (const bool general : {false, true})
    for (FileSetting& setting : settings)
      if (!setting.key.empty() && (setting.section == of_every_command) == general)
        out.all.push_back({general ? "" : setting.section, setting.key, setting.values,
                           format("{}:{}", path, setting.line)});
  return {};
}

std::optional<bool> switched(const std::string& value) {
  for (const char* word : {"1", "true", "yes", "on"})
    if (value == word) return true;
  for (const char* word : {"0", "false", "no", "off"})
    if (value == word) return false;
  return std::nullopt;
}

// Would the parser accept these values? Tried on a throwaway object.
Result<std::vector<std::string>> words_for(CLI::Option& option, const Setting& setting) {
  const std::string flag = "--" + setting.flag;
  if (option.get_items_expected_max() == 0) {
    const auto on = setting.values.size() == 1 ? switched(setting.values[0]) : std::nullopt;
    if (!on)
      return at(setting.origin, user_error("config", format("{} must be true or false", setting.flag)));
    return *on ? std::vector{flag} : std::vector<std::string>();
  }
  std::vector<std::string> out;
  try {
    for (const std::string& value : setting.values) {
      option.add_result(value);
      out.push_back(flag + "=" + value);
    }
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    return at(setting.origin, user_error("config", format("{}: {}", setting.flag, printable(error.what()))));
  }
  return out;
}

}  // namespace

bool may_be_set(const CLI::Option& option) {
  const std::string name = long_name(option);
  return !option.get_positional() && !name.empty() && !option.get_required() &&
         std::ranges::find(one_call, name) == one_call.end();
}

std::string variable_of(std::string_view command, std::string_view flag) {
  std::string out = "STITCHCUDA_";
  if (!command.empty()) out += std::string(command) + "_";
  out += flag;
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return out;
}

const Setting* Settings::find(std::string_view command, std::string_view flag) const {
  for (const Setting& setting : all)
    if (setting.flag == flag && (setting.command.empty() || setting.command == command)) return &setting;
  return nullptr;
}

Result<Settings> load_settings(const CLI::App& app, const llm::Environment& environment) {
  Settings out;
  if (environment("STITCHCUDA_NO_SETTINGS")) return out;
  take_environment(out, app, environment);
  STITCH_CHECK(take_file(out, app, "stitchcuda.toml", "project"));
  const auto base = environment("XDG_CONFIG_HOME"), home = environment("HOME");
  const fs::path folder = base && !base->empty()   ? fs::path(*base)
                          : home && !home->empty() ? fs::path(*home) / ".config"
                                                   : fs::path();
  if (!folder.empty())
    STITCH_CHECK(take_file(out, app, (folder / "stitchcuda" / "config.toml").string(), "user"));
  return out;
}

Result<std::vector<std::string>> with_settings(std::vector<std::string> words, const Settings& settings) {
  CLI::App app;
  CommandLine line;
  add_command_line(app, line);
  auto place = std::ranges::find_if(words, [](const std::string& word) { return !word.starts_with('-'); });
  try {
    std::vector<std::string> backwards(words.rbegin(), words.rend());
    app.parse(backwards);
  } catch (const CLI::Error&) {
    return words;  // help, or a mistake: reported by the real parse
  }
  const auto chosen = app.get_subcommands();
  if (chosen.empty() || place == words.end()) return words;
  CLI::App& command = *chosen.back();
  std::set<const CLI::Option*> given;
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0) given.insert(option);
  std::vector<std::string> more;
  for (CLI::Option* option : command.get_options()) {
    if (given.contains(option) || !may_be_set(*option)) continue;
    const Setting* setting = settings.find(command.get_name(), long_name(*option));
    if (!setting || setting->read_elsewhere) continue;
    // What the command line says, or a setting before this one, may rule it out.
    const std::set<CLI::Option*> excluded = option->get_excludes();
    if (std::ranges::any_of(excluded, [&](const CLI::Option* other) { return given.contains(other); }))
      continue;
    STITCH_TRY(std::vector<std::string> flags, words_for(*option, *setting));
    if (!flags.empty()) given.insert(option);
    more.insert(more.end(), flags.begin(), flags.end());
  }
  words.insert(place + 1, more.begin(), more.end());
  return words;
}

// stitchcuda config: which defaults are set, and where.

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
