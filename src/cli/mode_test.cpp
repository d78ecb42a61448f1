// --eval and --train, from the import to the receipt: what a command says about a model in training, and that
// two commands can't mean two modes. Needs PyTorch.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "cli/run_cli.h"
#include "import/python.h"

namespace stitch {
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

struct Said {
  int code;
  std::string out, err;
};

Said say(const std::vector<std::string>& words) {
  std::vector<const char*> arguments = {"stitchcuda"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::ostringstream out, err;
  int code = run_cli(static_cast<int>(arguments.size()), arguments.data(), out, err);
  return {code, out.str(), err.str()};
}

class ModeOfAModel : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create("stitch-mode");
    ASSERT_TRUE(made);
    scratch.emplace(*std::move(made));
    task = in("model.py");
    ASSERT_TRUE(write_file(task, model));
  }
  std::string in(const char* name) const { return (scratch->path() / name).string(); }

  std::optional<ScratchFolder> scratch;
  std::string task;
};

bool warned(const Said& said) { return said.err.find(warning) != std::string::npos; }
Json warnings(const Said& said) {
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
    Said said = say(words);
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
    Said said = say(words);
    EXPECT_EQ(said.code, 0) << said.out;
    EXPECT_EQ(warnings(said).size(), 1) << said.out;
    EXPECT_EQ(said.err, "");
  }
  EXPECT_EQ(warnings(say({"show", task, "--eval", "--json"})), Json::array());
}

TEST_F(ModeOfAModel, InEvaluationDrawsNothing) {
  Said said = say({"show", task, "--eval", "--text"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err.find("warning"), std::string::npos) << said.err;
  EXPECT_EQ(said.out.find("seed"), std::string::npos) << said.out;
  EXPECT_NE(say({"show", task, "--text"}).out.find("seed"), std::string::npos);
}

TEST_F(ModeOfAModel, OfAGraphMustBeTheOneAskedFor) {
  ASSERT_EQ(say({"import", task, "--eval", "-o", in("graph")}).code, 0);
  EXPECT_EQ(say({"show", in("graph"), "--eval"}).code, 0);
  Said said = say({"show", in("graph"), "--train"});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("this graph is in eval mode, and train mode is asked for"), std::string::npos)
      << said.err;
  EXPECT_EQ(say({"show", task, "--train", "--eval"}).code, 2);
}

TEST_F(ModeOfAModel, OfAProgramMustBeItsTasks) {
  ASSERT_EQ(say({"code", task, "--eval", "-o", in("program")}).code, 0);
  const std::vector<std::string> verify = {"verify",   in("program"), "--task",  task,
                                           "--device", "emulated",    "--quick", "--json"};
  Said without = say(verify);
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
  Said refused = say(of_another);
  EXPECT_EQ(refused.code, 1) << refused.out;
  EXPECT_EQ(refused.out.find("verify it with"), std::string::npos) << refused.out;

  std::vector<std::string> with = verify;
  with.insert(with.end(), {"--eval", "--receipt", in("receipt.json")});
  Said passed = say(with);
  EXPECT_EQ(passed.code, 0) << passed.out;
  EXPECT_EQ(warnings(passed), Json::array());
  EXPECT_NE(passed.out.find("\"mode\": \"eval\""), std::string::npos);

  EXPECT_EQ(say({"receipt", "check", in("receipt.json"), "--device", "emulated"}).code, 0);
  Said other = say({"receipt", "check", in("receipt.json"), "--device", "emulated", "--train"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("this receipt is of mode eval, --train asks for train mode"), std::string::npos)
      << other.err;
  Said packaged = say({"package", in("program"), "--task", task, "-o", in("out"), "--train"});
  EXPECT_EQ(packaged.code, 2);
  EXPECT_NE(packaged.err.find("this program is in eval mode, and train mode is asked for"), std::string::npos)
      << packaged.err;
}

TEST_F(ModeOfAModel, OfAProgramWithoutOneIsTheTasks) {
  Said said = say({"verify", STITCH_SOURCE_DIR "/examples/programs/layer_norm", "--task",
                   STITCH_SOURCE_DIR "/examples/programs/layer_norm/task.py", "--device", "emulated",
                   "--quick", "--eval"});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
}

}  // namespace
}  // namespace stitch
