#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/testdata/ran.h"
#include "cli/testdata/sample_graphs.h"
#include "graph/text.h"
#include "import/python.h"

namespace stitch {

namespace {

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
                               "check the final program with two seeds and fewer gates",
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
  // Said before what follows from it: its value is no program, and -o is missing, too.
  EXPECT_TRUE(stitchcuda({"verify", "--all", "c", "--tasks", "t", "--on", "ray"})
                  .err.starts_with("error: unknown flag '--on'\n"));
  EXPECT_EQ(stitchcuda({"optimize", "model.py", "--buget", "5"}).err,
            "error: unknown flag '--buget'\nfix: did you mean --budget?\n");
  EXPECT_EQ(stitchcuda({"show", "a", "b"}).err,
            "error: unexpected argument 'b'\nfix: see: stitchcuda show --help\n");
  EXPECT_EQ(stitchcuda({"show"}).err, "error: MODEL is required\nfix: see: stitchcuda show --help\n");
  for (std::vector<std::string> words :
       std::vector<std::vector<std::string>>{{"show"},
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
  for (std::vector<std::string> words : std::vector<std::vector<std::string>>{
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
  auto folder = must(ScratchFolder::create("stitch_cli_test"));
  fs::path file = folder.path() / "graph.txt", page = folder.path() / "graph.html";
  std::string text = print_graph(samples::resnet18());
  ASSERT_TRUE(write_file(file, text));
  for (const fs::path& model : {file, folder.path()}) {
    EXPECT_EQ(stitchcuda({"show", model.c_str(), "--text"}).out, text);
    EXPECT_NE(stitchcuda({"show", model.c_str()}).out.find("11.69 M"), std::string::npos);
  }
  Ran ran = stitchcuda({"show", file.c_str(), "--html", page.c_str()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(page));
  auto document = must(parse_json(stitchcuda({"show", file.c_str(), "--json", "--gpu", "l40s"}).out));
  EXPECT_EQ(document["gpu"]["name"], "L40S");

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
  auto document = must(parse_json(ran.out));
  EXPECT_EQ(document["ready"], ran.code == 0);
}

}  // namespace

// --eval and --train, from the import to the receipt: what a command says about a model in training, and that
// two commands can't mean two modes. Needs PyTorch.

namespace {

constexpr const char* model = R"(
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.dropout(self.norm(self.linear(x)))

def get_init_inputs():
    return []

def get_inputs():
    return [torch.rand(16, 8)]
)";
const std::string warning =
    "warning: the model is in training mode: 1 dropout is random, 1 batch norm uses the batch's statistics; "
    "--eval for inference\n";

class ModeOfAModel : public testing::Test {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitch-mode")));
    task = in("model.py");
    ASSERT_TRUE(write_file(task, model));
  }
  std::string in(const char* name) const { return (scratch->path() / name).string(); }

  std::optional<ScratchFolder> scratch;
  std::string task;
};

bool warned(const Ran& said) { return said.err.find(warning) != std::string::npos; }
Json warnings(const Ran& said) {
  auto document = parse_json(said.out);
  return document ? document->value("warnings", Json::array()) : Json("no JSON: " + said.out);
}

TEST_F(ModeOfAModel, InTrainingIsWarnedOfOnce) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"show", task},
                                             {"plan", task},
                                             {"import", task, "-o", in("graph")},
                                             {"show", in("graph")},
                                             {"code", task, "-o", in("program")},
                                             {"code", in("graph"), "-o", in("program_of_graph")},
                                             {"package", in("program"), "--task", task, "-o", in("out")}}) {
    Ran said = stitchcuda(words);
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_TRUE(warned(said)) << words[0] << ": " << said.err;
    EXPECT_EQ(said.err.find("warning:"), said.err.rfind("warning:")) << said.err;
    EXPECT_EQ(said.out.find("warning"), std::string::npos) << said.out;
  }
}

TEST_F(ModeOfAModel, WarningsAreInTheJson) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"show", task, "--json"},
                                             {"import", task, "-o", in("graph"), "--json"},
                                             {"code", task, "-o", in("program"), "--json"}}) {
    Ran said = stitchcuda(words);
    EXPECT_EQ(said.code, 0) << said.out;
    EXPECT_EQ(warnings(said).size(), 1) << said.out;
    EXPECT_EQ(said.err, "");
  }
  EXPECT_EQ(warnings(stitchcuda({"show", task, "--eval", "--json"})), Json::array());
}

TEST_F(ModeOfAModel, InEvaluationDrawsNothing) {
  Ran said = stitchcuda({"show", task, "--eval", "--text"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err.find("warning"), std::string::npos) << said.err;
  EXPECT_EQ(said.out.find("seed"), std::string::npos) << said.out;
  EXPECT_NE(stitchcuda({"show", task, "--text"}).out.find("seed"), std::string::npos);
}

TEST_F(ModeOfAModel, OfAGraphMustBeTheOneAskedFor) {
  ASSERT_EQ(stitchcuda({"import", task, "--eval", "-o", in("graph")}).code, 0);
  EXPECT_EQ(stitchcuda({"show", in("graph"), "--eval"}).code, 0);
  Ran said = stitchcuda({"show", in("graph"), "--train"});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("this graph is in eval mode, and train mode is asked for"), std::string::npos)
      << said.err;
  EXPECT_EQ(stitchcuda({"show", task, "--train", "--eval"}).code, 2);
}

TEST_F(ModeOfAModel, OfAProgramMustBeItsTasks) {
  ASSERT_EQ(stitchcuda({"code", task, "--eval", "-o", in("program")}).code, 0);
  const std::vector<std::string> verify = {"verify",   in("program"), "--task",  task,
                                           "--device", "emulated",    "--quick", "--json"};
  Ran without = stitchcuda(verify);
  EXPECT_EQ(without.code, 2);
  EXPECT_NE(without.out.find("this program was made in eval mode, the task is in train mode"),
            std::string::npos)
      << without.out;
  EXPECT_NE(without.out.find("verify it in eval mode, or make it again in train mode"), std::string::npos);

  // Of another model the mode says nothing: the program is not its.
  std::string other_model(model);
  other_model.replace(other_model.find("rand(16"), 7, "rand(32");
  ASSERT_TRUE(write_file(in("other.py"), other_model));
  std::vector<std::string> of_another = verify;
  of_another[3] = in("other.py");
  Ran refused = stitchcuda(of_another);
  EXPECT_EQ(refused.code, 1) << refused.out;
  EXPECT_EQ(refused.out.find("verify it with"), std::string::npos) << refused.out;

  std::vector<std::string> with = verify;
  with.insert(with.end(), {"--eval", "--receipt", in("receipt.json")});
  Ran passed = stitchcuda(with);
  EXPECT_EQ(passed.code, 0) << passed.out;
  EXPECT_EQ(warnings(passed), Json::array());
  EXPECT_NE(passed.out.find("\"mode\": \"eval\""), std::string::npos);

  EXPECT_EQ(stitchcuda({"receipt", "check", in("receipt.json"), "--device", "emulated"}).code, 0);
  Ran other = stitchcuda({"receipt", "check", in("receipt.json"), "--device", "emulated", "--train"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("this receipt is of mode eval, --train asks for train mode"), std::string::npos)
      << other.err;
  Ran packaged = stitchcuda({"package", in("program"), "--task", task, "-o", in("out"), "--train"});
  EXPECT_EQ(packaged.code, 2);
  EXPECT_NE(packaged.err.find("this program is in eval mode, and train mode is asked for"), std::string::npos)
      << packaged.err;
}

TEST_F(ModeOfAModel, OfAProgramWithoutOneIsTheTasks) {
  Ran said = stitchcuda({"verify", STITCH_SOURCE_DIR "/examples/programs/layer_norm", "--task",
                         STITCH_SOURCE_DIR "/examples/programs/layer_norm/task.py", "--device", "emulated",
                         "--quick", "--eval"});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
}

}  // namespace

}  // namespace stitch
