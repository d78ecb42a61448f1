// stitchcuda man: the help as a manual page.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/flags/command_line.h"
#include "cli/flags/help.h"

namespace stitch {

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
