#include "cli/run_cli.h"

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/flags/help.h"
#include "cli/flags/settings.h"
#include "cli/log_file.h"
#include "store/run_store.h"
#include "verify/signing_key.h"

namespace stitch {

namespace {

// A home that can't be written to is no reason to fail: caches, runs and the signing key do without it.
// While it lives, $STITCHCUDA_CACHE and $STITCHCUDA_STATE lead to a temporary folder and $STITCHCUDA_STORE is
// "none", each only where its own place can't be written to. The processes of this one inherit them. To be
// made before the first thread.
class WritableFolders {
 public:
  explicit WritableFolders(const std::string& command);
  WritableFolders(const WritableFolders&) = delete;
  WritableFolders& operator=(const WritableFolders&) = delete;
  ~WritableFolders();
  // One line for the user; empty: nothing was replaced.
  const std::string& warning() const { return warning_; }

 private:
  void replace(const char* variable, const std::string& value);

  std::optional<ScratchFolder> scratch_;
  std::map<const char*, std::optional<std::string>> before_;
  std::string warning_;
};

WritableFolders::WritableFolders(const std::string& command) {
  const fs::path cache = cache_folder(), store = store::default_store(),
                 state = verifier::signing_key_folder();
  std::error_code ec;
  const bool cache_is_kept = !try_writing_below(cache);
  // Commands that read runs need the existing store.
  const bool runs_are_kept =
      store == "none" || command == "runs" || command == "memory" || !try_writing_below(store.parent_path());
  const bool key_is_kept = fs::exists(state / "receipt.key", ec) || !try_writing_below(state);
  if (cache_is_kept && runs_are_kept && key_is_kept) return;
  auto scratch = ScratchFolder::create("stitchcuda-home");
  if (!scratch) return;  // then the first who needs one of them says why
  scratch_.emplace(*std::move(scratch));
  std::vector<std::string> places, consequences, variables;
  auto note = [&](const char* variable, const fs::path& place, const std::string& value,
                  const char* consequence) {
    replace(variable, value);
    places.push_back(place.string());
    consequences.emplace_back(consequence);
    variables.emplace_back(variable);
  };
  if (!cache_is_kept) note("STITCHCUDA_CACHE", cache, scratch_->path() / "cache", "nothing stays cached");
  if (!runs_are_kept) note("STITCHCUDA_STORE", store, "none", "runs are not recorded");
  if (!key_is_kept)
    note("STITCHCUDA_STATE", state, scratch_->path() / "state",
         "receipts are signed by a key that is not kept");
  warning_ = format("cannot write to {}: {}; to keep them, set {}", join(places, ", "),
                    join(consequences, ", "), join(variables, ", "));
}

WritableFolders::~WritableFolders() {
  for (const auto& [variable, value] : before_)
    value ? ::setenv(variable, value->c_str(), 1) : ::unsetenv(variable);
}

void WritableFolders::replace(const char* variable, const std::string& value) {
  const char* before = std::getenv(variable);
  before_[variable] = before ? std::optional<std::string>(before) : std::nullopt;
  ::setenv(variable, value.c_str(), 1);
}

// "model.py:6, in forward: y = x + 1" is a place and the line that stands there.
std::pair<std::string, std::string> split_place(const std::string& where) {
  size_t function = where.find(", in ");
  size_t colon = function == std::string::npos ? function : where.find(": ", function);
  if (colon == std::string::npos) return {where, ""};
  return {where.substr(0, colon), where.substr(colon + 2)};
}

// Several lines perhaps, with words of models and compilers in them: none of them may move the cursor.
std::string printable_message(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    std::ranges::replace(line, '\t', ' ');
    line = printable(line);
  }
  return join(lines, "\n");
}

int report_error(const Error& error, Console& console) {
  if (console.json) {
    console.out << document_text(to_json(error));
    return error.exit_code();
  }
  auto [place, code] = split_place(error.where);
  console.err << styled("error:", Style::bad, console.err_terminal) << ' '
              << (place.empty() ? "" : printable(place) + ": ") << printable_message(error.message) << '\n';
  if (!code.empty()) console.err << "    " << printable(code) << '\n';
  if (!error.fix.empty())
    console.err << styled("fix:", Style::good, console.err_terminal) << ' ' << printable_message(error.fix)
                << '\n';
  return error.exit_code();
}

int report_bug(const char* what, Console& console) {
  if (console.json) {
    Json error = {{"code", "bug"}, {"message", what}, {"exit_code", 3}};
    console.out << document_text(Json{{"error", error}});
  } else {
    console.err << styled("bug in stitchcuda:", Style::bad, console.err_terminal) << ' ' << what << '\n'
                << "This is our mistake, not yours. Please report it with the command you ran.\n";
  }
  return 3;
}

void warn(const std::string& warning, Console& console) {
  console.err << styled("warning:", Style::warning, console.err_terminal) << ' ' << printable(warning)
              << '\n';
}

// Flags that were renamed or lost their meaning: what to use instead.
std::optional<std::string_view> retired(std::string_view flag) {
  if (flag == "--direct") return "leave it out: the whole plan comes first now";
  if (flag == "--first") return "--budget 1: the first program that passes ships";
  if (flag == "--no-memory") return "--no-recall";
  return std::nullopt;
}

Error bad_flags(const CLI::App& app, const CLI::ParseError& error) {
  auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.back();
  std::string see =
      chosen.empty() ? "see: stitchcuda --help" : format("see: stitchcuda {} --help", command.get_name());
  std::vector<std::string> extras = command.remaining();
  // An unknown flag's value is taken for a positional argument, and other complaints come of that.
  if (!extras.empty() && (extras.front().starts_with('-') || dynamic_cast<const CLI::ExtrasError*>(&error))) {
    const std::string& word = extras.front();
    if (!word.starts_with('-'))
      return user_error("unexpected", format("unexpected argument '{}'", word), see);
    if (auto gone = retired(word))
      return user_error("unknown_flag", format("there is no flag '{}' any more", word), std::string(*gone));
    std::vector<std::string> flags;
    for (const CLI::Option* option : command.get_options())
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    std::ranges::reverse(flags);  // so that --help, which comes first, wins no ties
    const auto near = nearest(word, flags);
    return user_error("unknown_flag", format("unknown flag '{}'", word),
                      near ? format("did you mean {}?", *near) : see);
  }
  return user_error("flags", error.what(), see);
}

// `stitchcuda help show` is `stitchcuda show --help`, and `stitchcuda version` is `stitchcuda --version`.
std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  if (!words.empty() && words[0] == "version") words[0] = "--version";
  return words;
}

// Commands that must work where a settings file is broken or the home can't be written to.
bool needs_no_home(const std::string& command) {
  return command == "config" || command == "completion" || command == "man" || command == "init";
}

Result<int> run_chosen(const CLI::App& app, const CommandLine& line, const std::vector<std::string>& words,
                       Console& console) {
  std::unique_ptr<LogFile> log;
  if (!line.log.empty()) {
    STITCH_TRY(log, LogFile::open(line.log, console, words));
  }
  const std::string name = app.get_subcommands().back()->get_name();
  std::optional<WritableFolders> folders;
  if (!needs_no_home(name)) folders.emplace(name);
  if (folders && !folders->warning().empty()) warn(folders->warning(), console);
  auto code = line.commands.at(name)(console);
  // Here, so that it is in the log.
  return code ? *code : report_error(code.error(), console);
}

Result<int> parse_and_run(std::vector<std::string> words, Console& console) {
  CLI::App app;
  CommandLine line;
  add_command_line(app, line);
  if (!words.empty() && !words[0].starts_with('-')) {
    std::vector<std::string> names = command_names(app);
    if (std::ranges::find(names, words[0]) == names.end()) return unknown_command(app, words[0]);
    if (!needs_no_home(words[0])) {
      STITCH_TRY(const Settings settings, load_settings(app, llm::process_environment()));
      if (!console.json)
        for (const std::string& warning : settings.warnings) warn(warning, console);
      STITCH_TRY(words, with_settings(std::move(words), settings));
    }
  }
  try {
    std::vector<std::string> backwards(words.rbegin(), words.rend());  // CLI11 takes them from the back
    app.parse(backwards);
  } catch (const CLI::CallForHelp&) {
    auto chosen = app.get_subcommands();
    console.out << help_text(chosen.empty() ? app : *chosen.back(), console.out_terminal);
    return 0;
  } catch (const CLI::ParseError& error) {
    return bad_flags(app, error);
  }
  if (line.version) {
    if (console.json)
      console.out << Json{{"version", STITCH_VERSION}}.dump(2) << '\n';
    else
      console.out << "stitchcuda " STITCH_VERSION "\n";
    return 0;
  }
  if (app.get_subcommands().empty()) {
    if (!console.json) console.err << help_text(app, console.err_terminal) << '\n';
    return user_error("no_command", "no command given", "one of: " + join(command_names(app), ", "));
  }
  return run_chosen(app, line, words, console);
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
