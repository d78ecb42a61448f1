#include "cli/flags/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/commands/commands.h"

namespace stitch {

namespace {

constexpr int widest_name = 22;  // a longer one has a line to itself
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

// stitchcuda man: the help as a manual page.

namespace {

// Text for troff: its own characters spelt out, everything beyond ASCII by its code point.
std::string roff(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '"') {
      out += "\\(dq";
    } else if (c < 0x80) {
      out += text[i];
    } else {
      const int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
      uint32_t point = c & (0x3Fu >> more);
      for (int k = 0; k < more && i + 1 < text.size(); ++k)
        point = point << 6 | (static_cast<unsigned char>(text[++i]) & 0x3Fu);
      out += format("\\[u{:04X}]", point);
    }
  }
  return (out.starts_with('.') ? "\\&" : "") + out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string section(std::string_view title) {
  return format(".SH \"{}\"\n", roff(upper(std::string(title))));
}

std::string entry(const std::string& name, const std::string& text) {
  return format(".TP\n.B {}\n{}\n", roff(name), roff(text));
}

std::string arguments_and_flags(const CLI::App& command, bool titled) {
  std::string out;
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) out += entry(option->get_name(true), option->get_description());
  for (const FlagGroup& group : flags_by_group(command)) {
    if (titled) out += section(group.title);
    for (const CLI::Option* flag : group.flags) out += entry(spelling_of(*flag), flag->get_description());
  }
  return out;
}

std::string numerics() {
  std::string out = section("numerics classes");
  for (const NumericsLine& line : numerics_lines())
    out += entry(std::string(line.name), std::string(line.budget));
  return out + ".PP\n" + roff(numerics_note) + "\n";
}

std::string examples(const CLI::App& command) {
  std::string out = ".nf\n";
  for (const std::string& line : split(command.get_footer(), '\n')) out += roff(line) + "\n";
  return out + ".fi\n";
}

std::string title(const std::string& name, const std::string& about) {
  return format(".TH \"{}\" 1 \"\" \"stitchcuda {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
                roff(upper(name)), STITCH_VERSION, roff(name), roff(about));
}

std::string what_all_share() {
  return section("environment") +
         entry("STITCHCUDA_FLAG, STITCHCUDA_COMMAND_FLAG",
               "the default of a flag: STITCHCUDA_NUMERICS for every command that has --numerics, "
               "STITCHCUDA_OPTIMIZE_BUDGET for optimize --budget") +
         entry("STITCHCUDA_PYTHON", "the Python that has PyTorch") +
         entry("STITCHCUDA_CACHE",
               "the folder of compiled kernels and measurements; where it cannot be "
               "written to, a temporary one is used, with a warning") +
         entry("STITCHCUDA_STORE", "the database of runs; none: runs are not recorded") +
         entry("STITCHCUDA_STATE", "the folder of the key that signs receipts") +
         entry("STITCHCUDA_THREADS", "how many cores to use") + section("files") +
         entry("./stitchcuda.toml", "defaults of flags and profiles of language models, for this folder") +
         entry("~/.config/stitchcuda/config.toml", "the same, for this user") + ".PP\n" +
         roff(
             "The command line wins over the environment, the environment over ./stitchcuda.toml, and that "
             "over the "
             "user's file. stitchcuda config shows where each value is from.") +
         "\n" + section("exit status") + entry("0", "done; what was checked passed") +
         entry("1", "the work failed, or what was checked did not pass") +
         entry("2", "a mistake in the command line, the model or a file") + entry("3", "a bug in stitchcuda");
}

std::string page_of_all(const CLI::App& app) {
  std::string out = title("stitchcuda", "turn PyTorch models into verified, faster CUDA programs");
  out += section("synopsis") + ".B stitchcuda\n" + roff("COMMAND [flags]") + "\n";
  out += section("description") + roff(app.get_description()) + "\n" + section("commands");
  for (const CLI::App* command : app.get_subcommands({}))
    out += entry(command->get_name(), command->get_description());
  out += section("flags") + arguments_and_flags(app, false);
  for (const CLI::App* command : app.get_subcommands({}))
    out += section(command->get_name()) + ".B " + roff(usage_of(*command)) + "\n.PP\n" +
           roff(command->get_description()) + ".\n" + arguments_and_flags(*command, false) + ".PP\n" +
           examples(*command);
  return out + numerics() + what_all_share() + section("examples") + examples(app);
}

std::string page_of(const CLI::App& command) {
  std::string out = title("stitchcuda-" + command.get_name(), command.get_description());
  out += section("synopsis") + ".B " + roff(usage_of(command)) + "\n" + section("description") +
         roff(command.get_description()) + ".\n" + arguments_and_flags(command, true);
  if (command.get_option_no_throw("--numerics")) out += numerics();
  return out + what_all_share() + section("examples") + examples(command) + section("see also") +
         ".BR stitchcuda (1)\n";
}

Result<int> run_man(const std::string& command, Console& console) {
  CLI::App app;
  CommandLine line;
  add_command_line(app, line);
  if (command.empty()) {
    console.out << page_of_all(app);
    return 0;
  }
  for (const CLI::App* one : app.get_subcommands({}))
    if (one->get_name() == command) {
      console.out << page_of(*one);
      return 0;
    }
  return unknown_command(app, command);
}

}  // namespace

Run add_man(CLI::App& app) {
  const auto command = std::make_shared<std::string>();
  Flags flags(app, "man", "Print the manual page");
  flags("COMMAND", *command, "the command to describe (default: stitchcuda itself)");
  flags.examples(
      "stitchcuda man | man -l -\n"
      "stitchcuda man optimize > ~/.local/share/man/man1/stitchcuda-optimize.1");
  return [command](Console& console) { return run_man(*command, console); };
}

}  // namespace stitch
