#include "cli/run_cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/commands.h"

namespace stitch {

namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// Our own, because CLI11's looks otherwise from version to version.
std::string help_of(const CLI::App& app, const Terminal& terminal) {
  bool top = app.get_parent() == nullptr;
  std::string usage = top ? "stitchcuda COMMAND" : "stitchcuda " + app.get_name();
  Table positionals({{}, {.least = 20}}), flags({{}, {.least = 20}}), commands({{}, {.least = 20}});
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      usage += ' ' + option->get_name(true) + (option->get_items_expected_max() > 1 ? "…" : "");
      positionals.add_row({option->get_name(true), option->get_description()});
      continue;
    }
    std::vector<std::string> names = split(option->get_name(false, true), ',');
    std::string value =
        option->get_items_expected_max() > 0 ? ' ' + split(option->get_type_name(), ':').front() : "";
    if (option->get_required()) usage += ' ' + names.front() + value;
    flags.add_row({join(names, ", ") + value, option->get_description()});
  }
  for (const CLI::App* command : app.get_subcommands({}))
    commands.add_row({command->get_name(), command->get_description()});
  auto section = [&](std::string_view title, const std::string& body) {
    return body.empty() ? "" : "\n" + styled(title, Style::bold, terminal) + "\n" + body;
  };
  std::string examples;
  for (const std::string& line : split(app.get_footer(), '\n')) examples += "  " + line + "\n";
  return app.get_description() + "\n\n" + styled("Usage", Style::bold, terminal) + "  " + usage +
         " [flags]\n" + (positionals.empty() ? "" : "\n" + positionals.render(terminal, 2)) +
         section("Commands", commands.empty() ? "" : commands.render(terminal, 2)) +
         section("Flags", flags.render(terminal, 2)) + section("Examples", examples);
}

// "model.py:6, in forward: y = x + 1" is a place and the line that stands there.
std::pair<std::string, std::string> split_place(const std::string& where) {
  size_t function = where.find(", in ");
  size_t colon = function == std::string::npos ? function : where.find(": ", function);
  if (colon == std::string::npos) return {where, ""};
  return {where.substr(0, colon), where.substr(colon + 2)};
}

int report_error(const Error& error, Console& console) {
  if (console.json) {
    console.out << to_json(error).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return error.exit_code();
  }
  auto [place, code] = split_place(error.where);
  console.err << styled("error:", Style::bad, console.err_terminal) << ' '
              << (place.empty() ? "" : printable(place) + ": ") << error.message << '\n';
  if (!code.empty()) console.err << "    " << printable(code) << '\n';
  if (!error.fix.empty())
    console.err << styled("fix:", Style::good, console.err_terminal) << ' ' << error.fix << '\n';
  return error.exit_code();
}

int report_bug(const char* what, Console& console) {
  if (console.json) {
    Json error = {{"code", "bug"}, {"message", what}, {"exit_code", 3}};
    console.out << Json{{"error", error}}.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    console.err << styled("bug in stitchcuda:", Style::bad, console.err_terminal) << ' ' << what << '\n'
                << "This is our mistake, not yours. Please report it with the command you ran.\n";
  }
  return 3;
}

Error with_suggestion(std::string code, std::string message, const std::string& word,
                      const std::vector<std::string>& candidates, const std::string& otherwise) {
  auto near = nearest(word, candidates);
  return user_error(std::move(code), std::move(message),
                    near ? format("did you mean {}?", *near) : otherwise);
}

Error unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names = command_names(app);
  return with_suggestion("unknown_command", format("there is no command '{}'", word), word, names,
                         "one of: " + join(names, ", "));
}

Error bad_flags(const CLI::App& app, const CLI::ParseError& error) {
  auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.back();
  std::string see =
      chosen.empty() ? "see: stitchcuda --help" : format("see: stitchcuda {} --help", command.get_name());
  std::vector<std::string> extras = command.remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) && !extras.empty()) {
    const std::string& word = extras.front();
    if (!word.starts_with('-'))
      return user_error("unexpected", format("unexpected argument '{}'", word), see);
    std::vector<std::string> flags;
    for (const CLI::Option* option : command.get_options())
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    std::ranges::reverse(flags);  // so that --help, which comes first, wins no ties
    return with_suggestion("unknown_flag", format("there is no flag '{}'", word), word, flags, see);
  }
  return user_error("flags", error.what(), see);
}

// `stitchcuda help show` is `stitchcuda show --help`.
std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  return words;
}

Result<int> parse_and_run(std::vector<std::string> words, Console& console) {
  CLI::App app("StitchCUDA turns PyTorch models into verified, faster CUDA programs.");
  Options options;
  app.set_help_flag("-h,--help", "show this help");
  bool version = false;
  app.add_flag("--version", version, "show the version");
  add_json(app, options);
  for (const CommandRow& command : all_commands()) command.add_flags(app, options);
  app.require_subcommand(0, 1);
  app.footer(
      "stitchcuda doctor\n"
      "stitchcuda optimize model.py -o program/\n"
      "stitchcuda verify program/ --task model.py");

  if (!words.empty() && !words[0].starts_with('-')) {
    std::vector<std::string> names = command_names(app);
    if (std::ranges::find(names, words[0]) == names.end()) return unknown_command(app, words[0]);
  }
  try {
    std::ranges::reverse(words);  // CLI11 takes them from the back
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    auto chosen = app.get_subcommands();
    console.out << help_of(chosen.empty() ? app : *chosen.back(), console.out_terminal);
    return 0;
  } catch (const CLI::ParseError& error) {
    return bad_flags(app, error);
  }
  if (version) {
    if (console.json)
      console.out << Json{{"version", STITCH_VERSION}}.dump(2) << '\n';
    else
      console.out << "stitchcuda " STITCH_VERSION "\n";
    return 0;
  }
  auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    if (!console.json) console.err << help_of(app, console.err_terminal) << '\n';
    return user_error("no_command", "no command is named", "one of: " + join(command_names(app), ", "));
  }
  const auto command = std::ranges::find(all_commands(), chosen.back()->get_name(), &CommandRow::name);
  require(command != all_commands().end(), "every command has a row");
  return command->run(options, console);
}

}  // namespace

int run_cli(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  Console console{out, err, {}, {}};
  if (&out == &std::cout) console.out_terminal = terminal_of(STDOUT_FILENO);
  if (&err == &std::cerr) console.err_terminal = terminal_of(STDERR_FILENO);
  std::vector<std::string> words = words_of(argc, argv);
  console.json = std::ranges::find(words, "--json") != words.end();
  try {
    auto code = parse_and_run(std::move(words), console);
    return code ? *code : report_error(code.error(), console);
  } catch (const std::exception& bug) {
    return report_bug(bug.what(), console);
  }
}

}  // namespace stitch
