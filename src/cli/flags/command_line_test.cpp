// What every tool is expected to have: help that fits, completion in real shells, a manual page that groff
// takes, defaults from files and the environment, a log without keys.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/machine/process.h"
#include "base/terminal/log.h"
#include "base/terminal/progress.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/help.h"
#include "cli/flags/settings.h"
#include "cli/log_file.h"
#include "cli/testdata/ran.h"

namespace stitch {

namespace {

// In a folder of its own, without the user's files.
class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitch-cli")));
    before = fs::current_path();
    fs::current_path(scratch->path());
    set("XDG_CONFIG_HOME", (scratch->path() / "home").string());
  }
  void TearDown() override {
    fs::current_path(before);
    for (const auto& [name, value] : variables)
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    const char* there = std::getenv(name.c_str());
    variables.emplace(name, there ? std::optional<std::string>(there) : std::nullopt);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  void project(const std::string& text) { ASSERT_TRUE(write_file("stitchcuda.toml", text)); }
  void user(const std::string& text) {
    fs::create_directories("home/stitchcuda");
    ASSERT_TRUE(write_file("home/stitchcuda/config.toml", text));
  }
  // What a flag of a command is, and where from.
  std::string found(const std::string& command, const std::string& flag) {
    const Ran ran = stitchcuda({"config", command, "--json"});
    auto json = parse_json(ran.out);
    if (!json || !json->contains("settings")) return ran.out;
    for (const Json& one : (*json)["settings"])
      if (word(one, "flag") == flag) return word(one, "value") + " from " + word(one, "from");
    return "no such flag";
  }
  std::optional<ScratchFolder> scratch;
  fs::path before;
  std::map<std::string, std::optional<std::string>> variables;
};

TEST(Help, IsWrappedAndNeverCut) {
  CLI::App app;
  stitch::CommandLine line;
  add_command_line(app, line);
  for (const int width : {60, 80, 200})
    for (const CLI::App* command : app.get_subcommands({})) {
      const std::string help = help_text(*command, {.width = width});
      EXPECT_EQ(help.find("…\n"), std::string::npos) << help;
      const size_t examples = help.find("\nExamples\n");
      ASSERT_NE(examples, std::string::npos) << command->get_name();
      for (const std::string& line : split(help.substr(0, examples), '\n'))
        EXPECT_LE(display_width(line), width) << command->get_name() << ": " << line;
      for (const CLI::Option* option : command->get_options()) {
        // Every word of every description is there.
        std::string flat, description = option->get_description();
        for (const std::string& line : split(help, '\n')) flat += trim(line) + " ";
        if (width == 200) {
          EXPECT_NE(help.find(description.substr(0, 60)), std::string::npos) << description;
        }
        EXPECT_NE(flat.find(description.substr(description.rfind(' ') + 1)), std::string::npos)
            << description;
      }
    }
}

TEST(Help, ExplainsTheNumericsClassesWhereTheyAreChosen) {
  for (const char* command : {"plan", "code", "optimize", "bench", "verify", "baselines", "profile"}) {
    const std::string help = stitchcuda({command, "--help"}).out;
    for (const char* expected : {"Numerics classes", "strict ", "twice PyTorch's error without TF32",
                                 "with TF32 everywhere", "under autocast (fp16 or bf16)"})
      EXPECT_NE(help.find(expected), std::string::npos) << command << ": " << expected << "\n" << help;
  }
  EXPECT_NE(stitchcuda({"optimize", "--help"}).out.find("\nLanguage models\n"), std::string::npos);
}

// Flags that are offered exist, and their values are taken.
TEST(Completion, OffersWhatThereIs) {
  CLI::App app;
  stitch::CommandLine line;
  add_command_line(app, line);
  int offered = 0;
  for (const CLI::App* command : app.get_subcommands({}))
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_positional() && option->get_lnames().empty()) continue;
      const std::string name =
          option->get_positional() ? option->get_name(true) : "--" + option->get_lnames()[0];
      offered += !choices_of(command->get_name(), name).empty();
    }
  EXPECT_GE(offered, 25);
  EXPECT_EQ(stitchcuda({"completion", "tcsh"}).err,
            "error: no completion for the shell 'tcsh'\nfix: one of: bash, zsh, fish\n");
}

std::string completed_by_bash(const fs::path& script, const std::string& line) {
  const std::string program = format(
      "source {}; COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _stitchcuda; printf '%s\\n' "
      "\"${{COMPREPLY[@]}}\"",
      script.string(), line);
  std::string out;
  auto finished =
      run({{"bash", "-c", program}, {}, {}}, [&](std::string_view each) { out += std::string(each) + " "; });
  return finished ? trim(out) + finished->error_tail : "did not run";
}

TEST_F(CommandLine, CompletesInBash) {
  if (!find_program("bash")) GTEST_SKIP() << "there is no bash";
  const fs::path script = scratch->path() / "completion.bash";
  ASSERT_TRUE(write_file(script, stitchcuda({"completion", "bash"}).out));
  ASSERT_TRUE(write_file("model.py", ""));
  fs::create_directory("graphs");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda opt"), "optimize");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda help cal"), "calibrate");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda optimize --exit"), "--exit-slower");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda optimize --numerics ''"), "strict default tf32 half");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda optimize --numerics = t"), "tf32");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda runs r"), "resume remove");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda optimize mo"), "model.py");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda optimize -o ''"), "graphs");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda show --gpu H2"), "H200");
  EXPECT_EQ(completed_by_bash(script, "stitchcuda man opt"), "optimize");
  if (find_program("shellcheck")) {
    auto checked = run({{"shellcheck", "-s", "bash", "-S", "warning", script.string()}, {}, {}});
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->exit_code, 0) << checked->error_tail;
  }
}

TEST_F(CommandLine, CompletionsOfOtherShellsAreTheirLanguage) {
  for (const char* shell : {"zsh", "fish"}) {
    if (!find_program(shell)) {
      std::cout << "SKIPPED: " << shell << " is not installed\n";
      continue;
    }
    const fs::path script = scratch->path() / shell;
    ASSERT_TRUE(write_file(script, stitchcuda({"completion", shell}).out));
    auto parsed = run({{shell, "-n", script.string()}, {}, {}});
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->exit_code, 0) << parsed->error_tail;
    EXPECT_EQ(parsed->error_tail, "");
  }
  if (!find_program("fish")) return;
  std::string offered;
  auto asked = run({{"fish", "-c", "source fish; complete -C 'stitchcuda optimize --numerics '"}, {}, {}},
                   [&](std::string_view line) { offered += split(line, '\t')[0] + " "; });
  ASSERT_TRUE(asked);
  EXPECT_EQ(offered, "default half strict tf32 ") << asked->error_tail;
}

TEST_F(CommandLine, TheManualPageIsTroff) {
  for (std::vector<std::string> words : std::vector<std::vector<std::string>>{{"man"}, {"man", "optimize"}}) {
    const Ran ran = stitchcuda(words);
    ASSERT_EQ(ran.code, 0);
    for (unsigned char c : ran.out) ASSERT_LT(c, 0x80);
    if (!find_program("groff")) GTEST_SKIP() << "there is no groff";
    ASSERT_TRUE(write_file("page.1", ran.out));
    std::string text;
    auto set = run({{"groff", "-man", "-Tutf8", "-ww", "-P-cbou", "page.1"}, {}, {}},
                   [&](std::string_view line) { text += std::string(line) + "\n"; });
    ASSERT_TRUE(set);
    EXPECT_EQ(set->exit_code, 0);
    EXPECT_EQ(set->error_tail, "");
    for (const char* expected :
         {"NAME", "EXIT STATUS", "--exit-slower", "NUMERICS CLASSES", "stitchcuda optimize MODEL"})
      EXPECT_NE(text.find(expected), std::string::npos) << expected;
  }
  const Ran unknown = stitchcuda({"man", "optimise"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err, "error: unknown command 'optimise'\nfix: did you mean optimize?\n");
}

TEST_F(CommandLine, DefaultsComeFromTheEnvironmentTheProjectAndTheUser) {
  if (!can_read_settings()) GTEST_SKIP() << "built without toml++";
  EXPECT_EQ(found("optimize", "budget"), "40 from default");
  user("[defaults]\nnumerics = \"half\"\nbudget = 10\n[optimize]\nbudget = 20\n");
  const std::string file = (scratch->path() / "home/stitchcuda/config.toml").string();
  EXPECT_EQ(found("optimize", "numerics"), "half from " + file + ":2");
  EXPECT_EQ(found("optimize", "budget"), "20 from " + file + ":5");
  EXPECT_EQ(found("bench", "budget"), "10 from " + file + ":3");
  project("# ours\n[defaults]\nbudget = 30\n");
  EXPECT_EQ(found("optimize", "budget"), "30 from stitchcuda.toml:3");
  set("STITCHCUDA_BUDGET", "40");
  EXPECT_EQ(found("optimize", "budget"), "40 from $STITCHCUDA_BUDGET");
  set("STITCHCUDA_OPTIMIZE_BUDGET", "50");
  EXPECT_EQ(found("optimize", "budget"), "50 from $STITCHCUDA_OPTIMIZE_BUDGET");
  EXPECT_EQ(found("bench", "budget"), "40 from $STITCHCUDA_BUDGET");
  EXPECT_NE(stitchcuda({"config"}).out.find("$STITCHCUDA_OPTIMIZE_BUDGET"), std::string::npos);
}

TEST_F(CommandLine, SettingsBecomeFlags) {
  auto settled = [](std::vector<std::string> words, std::vector<Setting> all) {
    auto out = with_settings(std::move(words), Settings{.all = std::move(all), .files = {}, .warnings = {}});
    return out ? join(*out, " ") : out.error().text();
  };
  const std::vector<Setting> some = {{"optimize", "budget", {"9"}, "a:1"},
                                     {"", "numerics", {"tf32"}, "a:2"},
                                     {"", "eval", {"true"}, "a:3"},
                                     {"", "quick", {"false"}, "a:4"},
                                     {"optimize", "coder-weights", {"sm_90"}, "a:5"}};
  EXPECT_EQ(settled({"optimize", "m.py", "-o", "x"}, some),
            "optimize --numerics=tf32 --budget=9 --coder-weights=sm_90 --eval m.py -o x");
  EXPECT_EQ(settled({"optimize", "m.py", "-o", "x", "--budget", "3", "--train", "--plan", "p"}, some),
            "optimize --numerics=tf32 m.py -o x --budget 3 --train --plan p")
      << "the command line wins, and what it rules out is left out";
  EXPECT_EQ(settled({"show", "m.py"}, some), "show --eval m.py");
  EXPECT_EQ(settled({"optimize", "m.py", "-o", "x"}, {{"", "budget", {"soon"}, "a:1"}}).substr(0, 12),
            "a:1: budget:");
  EXPECT_EQ(settled({"optimize", "m.py", "-o", "x"}, {{"", "quick", {"soon"}, "a:1"}}),
            "a:1: quick must be true or false");
}

TEST_F(CommandLine, SettingsThatAreWrongNameTheirLine) {
  if (!can_read_settings()) GTEST_SKIP() << "built without toml++";
  auto said = [&](const std::string& text) {
    project(text);
    const Ran ran = stitchcuda({"show", "/no/such/model"});
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_EQ(said("[optimise]\nbudget = 3\n"),
            "error: stitchcuda.toml:1: unknown section [optimise]\nfix: did you mean optimize?\n");
  EXPECT_EQ(said("[optimize]\n\nbudgett = 3\n"),
            "error: stitchcuda.toml:3: unknown setting 'budgett' in [optimize]\nfix: did you mean budget?\n");
  EXPECT_TRUE(said("numerics = \"half\"\n")
                  .starts_with("error: stitchcuda.toml:1: 'numerics' is outside of any section\nfix: "));
  EXPECT_TRUE(said("[defaults]\nforce = true\n")
                  .starts_with("error: stitchcuda.toml:2: unknown setting 'force' in [defaults]\n"));
  EXPECT_TRUE(said("[show]\ngpu = {a = 1}\n")
                  .starts_with("error: stitchcuda.toml:2: show.gpu must be a string, a number, "));
  EXPECT_TRUE(said("[show\n").starts_with("error: stitchcuda.toml:1: not valid TOML: "));
  EXPECT_EQ(stitchcuda({"--version"}).code, 0) << "help and the like work all the same";
  EXPECT_EQ(stitchcuda({"man"}).code, 0);
  EXPECT_EQ(stitchcuda({"config"}).code, 2);
  EXPECT_TRUE(said("[llm.a]\nurl = \"http://x\"\n").starts_with("error: /no/such/model"))
      << "profiles are not ours to read";
}

TEST_F(CommandLine, InitWritesAFileThatIsRead) {
  if (!can_read_settings()) GTEST_SKIP() << "built without toml++";
  ASSERT_EQ(stitchcuda({"init"}).code, 0);
  auto text = must(read_file("stitchcuda.toml"));
  std::string on;
  for (const std::string& line : split(text, '\n'))
    // Settings, not sentences.
    on += (line.starts_with("# [") || line.find(" = ") != std::string::npos ? line.substr(2) : line) + "\n";
  project(on);
  EXPECT_EQ(found("optimize", "budget"),
            "600 from stitchcuda.toml:" +
                std::to_string(
                    1 + std::count(on.begin(), on.begin() + static_cast<long>(on.find("budget =")), '\n')))
      << on;
}

TEST_F(CommandLine, TheLogHasEverythingButKeys) {
  set("SOME_API_KEY", "sk-very-secret-1234");
  const Ran ran = stitchcuda({"show", "/no/such/sk-very-secret-1234", "--log", "run.log"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("sk-very-secret-1234"), std::string::npos) << "the terminal is the user's";
  auto text = must(read_file("run.log"));
  EXPECT_EQ(text.find("sk-very"), std::string::npos) << text;
  const std::vector<std::string> lines = split(trim(text), '\n');
  ASSERT_GE(lines.size(), 3u) << text;
  EXPECT_NE(lines[0].find("Z  stitchcuda 0."), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find(" show /no/such/[hidden] --log run.log"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("Z  error: /no/such/[hidden]: no such file or folder"), std::string::npos)
      << lines[1];
  EXPECT_EQ(lines[0][4], '-');
  EXPECT_EQ(lines[0][10], 'T');
  EXPECT_EQ(stitchcuda({"doctor", "--log", "/no/such/folder/log"}).code, 2);
}

TEST_F(CommandLine, TheLogHasProgressAndProcessesButNoPictures) {
  std::ostringstream out, err;
  Console console{out, err, {}, {.interactive = true, .width = 80}};
  {
    auto log = LogFile::open("run.log", console, {"test"});
    ASSERT_TRUE(log);
    Progress progress(console.err, console.err_terminal, false, "working");
    progress.detail("on this");
    progress.say("a line that stays");
    auto is_logged = [] { return read_file("run.log")->find("working: on this") != std::string::npos; };
    for (int i = 0; i < 6000 && !is_logged(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(run({{"true"}, {}, {}}));
  }
  auto text = must(read_file("run.log"));
  for (const char* expected : {"working: on this", "a line that stays", ": true\n", ": exit code 0\n"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

TEST(BrainFlags, GoToAProcessForEachTaskWithItsShare) {
  BrainFlags brains;
  EXPECT_EQ(join(words_of(brains, 4), " "), "");
  brains.coder = "llm:qwen";
  brains.coder_style = "agent";
  brains.llm_samples = 4;
  brains.max_tokens = 1000;
  brains.max_dollars = 10;
  brains.config = "profiles.toml";
  EXPECT_EQ(
      join(words_of(brains, 4), " "),
      "--coder llm:qwen --coder-style agent --llm-samples 4 --max-tokens 250 --max-dollars 2.5 --config " +
          (fs::current_path() / "profiles.toml").string());
  brains.max_tokens = 3;
  EXPECT_NE(join(words_of(brains, 4), " ").find("--max-tokens 1 "), std::string::npos) << "0 is no limit";
}

TEST(BrainFlags, OfAModelThatIsNotThereAreRefusedBeforeAnyTask) {
  BrainFlags brains;
  EXPECT_TRUE(check_brains(brains));
  brains.coder = "llm:nobody";
  auto missing = check_brains(brains);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("nobody"), std::string::npos) << missing.error().text();
}

}  // namespace

}  // namespace stitch
