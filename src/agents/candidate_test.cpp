// A language model that writes whole candidates: prose, a wrong one, one that is right; in both forms, judged
// for real on the emulated GPU.
#include "agents/candidate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testdata/must.h"
#include "base/text.h"
#include "llm/scripted_server.h"

namespace stitch::agents {
namespace {

const fs::path judged = fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata";

std::string text_of_file(const fs::path& path) {
  auto text = read_file(path);
  return text ? *text : "";
}

// The header beside it becomes part of the source: an answer is one file.
std::string cuda_candidate(const std::string& name) {
  std::string text = text_of_file(judged / "candidates" / (name + ".cu"));
  const std::string include = "#include \"row_center.h\"";
  const size_t at = text.find(include);
  if (at == std::string::npos) return text;
  return text.replace(at, include.size(), text_of_file(judged / "candidates/row_center.h"));
}

class ACandidate : public testing::TestWithParam<CandidateForm> {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitch-candidate")));
    server = must(llm::ScriptedServer::start());
    options.llm.config = scratch->path() / "config.toml";
    ASSERT_TRUE(write_file(
        options.llm.config,
        format("[llm.test]\napi = \"openai\"\nurl = \"{}\"\nmodel = \"scripted\"\n", server->url())));
    options.model = judged / "row_center/task.py";
    options.coder = "llm:test";
    options.form = GetParam();
    options.gpu = *find_gpu("H200");
    options.verify.timing = false;
    options.verify.quick = true;
  }

  std::optional<ScratchFolder> scratch;
  std::unique_ptr<llm::ScriptedServer> server;
  CandidateOptions options;
};

TEST_P(ACandidate, IsWrittenAgainUntilItIsRight) {
  const bool python = GetParam() == CandidateForm::model_new;
  const std::string right = python ? text_of_file(judged / "model_new/honest.py") : cuda_candidate("honest");
  const std::string wrong =
      python ? text_of_file(judged / "model_new/raises.py") : cuda_candidate("wrong_in_one_element");
  const std::string fence = python ? "```python\n" : "```cuda\n";
  int asked = 0;
  std::vector<std::string> prompts;
  server->otherwise([&](const llm::Asked& request) {
    prompts.push_back(request.body->at("messages").back().dump());
    // Prose is asked for once more; prose again is a try that failed.
    const std::string text =
        asked < 2 ? "I'd rather talk about it." : fence + (asked == 2 ? wrong : right) + "```\n";
    ++asked;
    return llm::says(text)(request);
  });
  auto written = must(write_candidate(options));
  ASSERT_EQ(written.tries.size(), 3u);
  EXPECT_EQ(written.tries[0].outcome, Outcome::no_answer);
  EXPECT_FALSE(written.tries[1].why.empty());
  EXPECT_TRUE(written.tries[1].verdict && !written.tries[1].verdict->passed());
  EXPECT_EQ(written.best, 2) << written.tries[2].why;
  EXPECT_EQ(written.tries[2].source, right);
  EXPECT_EQ(written.author, "llm:test/scripted");
  // The last prompt quotes the wrong try and what the gate said of it.
  EXPECT_NE(prompts.back().find("source of try 2"), std::string::npos);
  EXPECT_NE(prompts.back().find("quoted material"), std::string::npos);
  EXPECT_EQ(prompts.front().find("R\\\"manifest(") == std::string::npos, python);
}

TEST_P(ACandidate, IsNoneWhereNoTryIsRight) {
  options.tries = 2;
  server->otherwise([&](const llm::Asked& request) { return llm::says("no")(request); });
  auto written = must(write_candidate(options));
  EXPECT_EQ(written.best, -1);
  EXPECT_EQ(written.tries.size(), 2u);
}

// The budget ends the asking, not the judging of what was answered; a server that goes away ends it, too.
TEST_P(ACandidate, KeepsWhatWasWrittenBeforeTheEnd) {
  const bool python = GetParam() == CandidateForm::model_new;
  const std::string wrong =
      python ? text_of_file(judged / "model_new/raises.py") : cuda_candidate("wrong_in_one_element");
  const std::string answer = (python ? "```python\n" : "```cuda\n") + wrong + "```\n";
  std::vector<std::string> kept;  // of each call: the outcome of the last try
  options.keep = [&](const WrittenCandidate& so_far) {
    kept.emplace_back(name(so_far.tries.back().outcome));
    EXPECT_EQ(so_far.tries.back().source, wrong);
    return Result<void>();
  };
  for (const bool away : {true, false}) {
    SCOPED_TRACE(away ? "the server is away" : "the budget is spent");
    kept.clear();
    options.budget = std::chrono::seconds(away ? 600 : 1);
    server->push(llm::says(answer));
    server->otherwise(away ? llm::fails_with(401, "no such key") : llm::hangs_after());
    auto written = must(write_candidate(options));
    ASSERT_EQ(written.tries.size(), 1u);
    EXPECT_TRUE(written.tries[0].verdict) << written.tries[0].why;
    EXPECT_NE(written.ended.find(away ? "key" : "the budget of 1 s was spent"), std::string::npos)
        << written.ended;
    ASSERT_GE(kept.size(), 2u);  // as it came, and as it was judged
    EXPECT_EQ(kept[0], name(Outcome::not_tried));
    EXPECT_EQ(kept[1], name(written.tries[0].outcome));
  }
}

INSTANTIATE_TEST_SUITE_P(Form, ACandidate, testing::Values(CandidateForm::model_new, CandidateForm::program),
                         [](const auto& each) {
                           return each.param == CandidateForm::model_new ? std::string("model_new")
                                                                         : std::string("program");
                         });

TEST(Candidate, IsWrittenByALanguageModelOnly) {
  CandidateOptions options;
  options.coder = "builtin";
  auto written = write_candidate(options);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().fix.find("stitchcuda optimize"), std::string::npos);
}

}  // namespace
}  // namespace stitch::agents
