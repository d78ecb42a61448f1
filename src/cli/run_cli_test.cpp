#include "cli/run_cli.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/testdata/sample_graphs.h"
#include "graph/text.h"

namespace stitch {
namespace {

struct Ran {
  int code;
  std::string out, err;
};

Ran stitchcuda(std::vector<const char*> words) {
  words.insert(words.begin(), "stitchcuda");
  std::ostringstream out, err;
  int code = run_cli(static_cast<int>(words.size()), words.data(), out, err);
  return {code, out.str(), err.str()};
}

TEST(RunCli, VersionAndHelp) {
  EXPECT_EQ(stitchcuda({"--version"}).code, 0);
  EXPECT_TRUE(stitchcuda({"--version"}).out.starts_with("stitchcuda 0."));
  EXPECT_TRUE(parse_json(stitchcuda({"--version", "--json"}).out));
  EXPECT_EQ(stitchcuda({"version"}).out, stitchcuda({"--version"}).out);
  Ran help = stitchcuda({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* word : {"import", "show", "doctor", "Examples"})
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
}

TEST(RunCli, EveryCommandsHelpEndsInExamples) {
  for (const char* command : {"import", "show", "doctor", "config"}) {
    Ran help = stitchcuda({command, "--help"});
    EXPECT_EQ(help.code, 0);
    size_t examples = help.out.find("\nExamples\n");
    ASSERT_NE(examples, std::string::npos) << help.out;
    EXPECT_NE(help.out.find(std::string("  stitchcuda ") + command, examples), std::string::npos);
    EXPECT_EQ(help.out, stitchcuda({"help", command}).out);
    EXPECT_EQ(help.err, "");
  }
}

TEST(RunCli, UsageShowsWhatIsRequired) {
  auto usage = [](const char* command) {
    std::string help = stitchcuda({command, "--help"}).out;
    size_t from = help.find("Usage");
    return help.substr(from, help.find('\n', from) - from);
  };
  EXPECT_EQ(usage("show"), "Usage  stitchcuda show MODEL [flags]");
  EXPECT_EQ(usage("import"), "Usage  stitchcuda import MODEL… [flags]");
  EXPECT_EQ(usage("optimize"), "Usage  stitchcuda optimize MODEL -o FOLDER [flags]");
  EXPECT_EQ(usage("bench"), "Usage  stitchcuda bench TASKS… -o FOLDER [flags]");
  EXPECT_EQ(usage("verify"), "Usage  stitchcuda verify PROGRAM --task TASK [flags]");
  EXPECT_EQ(usage("receipt"), "Usage  stitchcuda receipt ACTION [RECEIPT] [flags]");
}

// The table of commands is the one list of them.
std::vector<std::string> listed_commands() {
  std::vector<std::string> out;
  for (const CommandRow& row : all_commands()) out.emplace_back(row.name);
  return out;
}

TEST(RunCli, HelpSpeaksAsOtherToolsDo) {
  for (const std::string& command : listed_commands()) {
    std::string help = stitchcuda({command.c_str(), "--help"}).out;
    EXPECT_NE(help.find("show this help"), std::string::npos) << command;
    for (const char* odd : {"unless told", "several too", "say w", "Say ", "comes to", "soonest"})
      EXPECT_EQ(help.find(odd), std::string::npos) << command << ": " << odd;
  }
  EXPECT_NE(stitchcuda({"import", "--help"}).out.find("(default: 42)"), std::string::npos);
  std::string optimize = stitchcuda({"optimize", "--help"}).out;
  for (const char* expected : {"(default: 40)", "verify without timing; choose by estimates",
                               "check the final program with one seed and fewer gates",
                               "wall time in seconds after which the best program so far is written"})
    EXPECT_NE(optimize.find(expected), std::string::npos) << expected << "\n" << optimize;
}

TEST(RunCli, NoCommandIsAMistake) {
  Ran ran = stitchcuda({});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  const std::vector<std::string> names = listed_commands();
  EXPECT_GE(names.size(), 24u);
  EXPECT_TRUE(ran.err.ends_with("error: no command given\nfix: one of: " + join(names, ", ") + "\n"))
      << ran.err;
}

TEST(RunCli, AMisspeltCommand) {
  Ran ran = stitchcuda({"shwo", "model.py"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "error: unknown command 'shwo'\nfix: did you mean show?\n");
}

TEST(RunCli, MisusedFlags) {
  EXPECT_EQ(stitchcuda({"show", "model.py", "--htlm"}).err,
            "error: unknown flag '--htlm'\nfix: did you mean --html?\n");
  EXPECT_EQ(stitchcuda({"show", "a", "b"}).err,
            "error: unexpected argument 'b'\nfix: see: stitchcuda show --help\n");
  EXPECT_EQ(stitchcuda({"show"}).err, "error: MODEL is required\nfix: see: stitchcuda show --help\n");
  for (std::vector<const char*> words :
       std::vector<std::vector<const char*>>{{"show"},
                                             {"show", "a", "b"},
                                             {"--frob"},
                                             {"import", "a.py", "--jobs", "many"},
                                             {"show", "a", "--gpu"}})
    EXPECT_EQ(stitchcuda(words).code, 2) << words[0];
}

TEST(RunCli, AMissingFile) {
  Ran ran = stitchcuda({"show", "/no/such/model", "--gpu", "H200"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(ran.err.starts_with("error: /no/such/model: no such file or folder\nfix: ")) << ran.err;
}

TEST(RunCli, AnUnknownGpuIsRefusedBeforeAnyWork) {
  Ran ran = stitchcuda({"show", "/no/such/model", "--gpu", "H20"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("did you mean H200?"), std::string::npos) << ran.err;
}

TEST(RunCli, ErrorsAreJsonOnRequest) {
  for (std::vector<const char*> words : std::vector<std::vector<const char*>>{
           {"shwo", "--json"}, {"--json"}, {"show", "--json"}, {"show", "/no/such/model", "--json"}}) {
    Ran ran = stitchcuda(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, "");
    auto document = parse_json(ran.out);
    ASSERT_TRUE(document) << ran.out;
    EXPECT_EQ((*document)["error"]["exit_code"], 2);
    EXPECT_FALSE((*document)["error"]["message"].get<std::string>().empty());
  }
}

TEST(RunCli, ShowsASavedGraph) {
  auto folder = ScratchFolder::create("stitch_cli_test");
  ASSERT_TRUE(folder);
  fs::path file = folder->path() / "graph.txt", page = folder->path() / "graph.html";
  std::string text = print_graph(samples::resnet18());
  ASSERT_TRUE(write_file(file, text));
  for (const fs::path& model : {file, folder->path()}) {
    EXPECT_EQ(stitchcuda({"show", model.c_str(), "--text"}).out, text);
    EXPECT_NE(stitchcuda({"show", model.c_str()}).out.find("11.69 M"), std::string::npos);
  }
  Ran ran = stitchcuda({"show", file.c_str(), "--html", page.c_str()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(page));
  auto document = parse_json(stitchcuda({"show", file.c_str(), "--json", "--gpu", "l40s"}).out);
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["gpu"]["name"], "L40S");

  EXPECT_EQ(stitchcuda({"show", file.c_str(), "--eval"}).code, 2);
  ASSERT_TRUE(write_file(file, "graph \"x\"\nnonsense\n"));
  Ran bad = stitchcuda({"show", file.c_str()});
  EXPECT_EQ(bad.code, 2);
  EXPECT_TRUE(bad.err.starts_with("error: " + file.string())) << bad.err;
}

TEST(RunCli, OurBugIsCalledThat) {
  struct : std::streambuf {
    int overflow(int) override { throw Bug("the roof is on fire"); }
  } broken;
  std::ostream out(&broken);
  out.exceptions(std::ios::badbit);
  std::ostringstream err;
  const char* words[] = {"stitchcuda", "--version"};
  EXPECT_EQ(run_cli(2, words, out, err), 3);
  EXPECT_TRUE(err.str().starts_with("bug in stitchcuda: the roof is on fire (run_cli_test.cpp:"))
      << err.str();
}

TEST(RunCli, DoctorSpeaksJson) {
  Ran ran = stitchcuda({"doctor", "--json"});
  EXPECT_LE(ran.code, 1);
  auto document = parse_json(ran.out);
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["ready"], ran.code == 0);
}

}  // namespace
}  // namespace stitch
