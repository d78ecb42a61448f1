#include "rubric/judge.h"

#include <gtest/gtest.h>

#include <map>

#include "base/testdata/must.h"
#include "llm/answers.h"
#include "llm/connect.h"
#include "llm/scripted_server.h"
#include "rubric/pairs.h"

namespace stitch::rubric {
namespace {

using namespace testing;

prompts::Prompt judge_template() { return *prompts::find(prompts::built_in(), "judge"); }

// A model without a server.
class Said final : public llm::Chat {
 public:
  explicit Said(std::vector<std::string> answers) : answers_(std::move(answers)) {}
  Result<llm::Reply> ask(const llm::Request& request, const llm::AskOptions&) override {
    asked.push_back(request.messages.back().text);
    if (next_ >= answers_.size()) return work_error("llm_unreachable", "nobody is there");
    return llm::Reply{.text = answers_[next_++], .finish = llm::Finish::stop};
  }
  std::vector<std::string> asked;

 private:
  std::vector<std::string> answers_;
  size_t next_ = 0;
};

std::string answer(int score, bool major = false) {
  Json out = {{"major_hacking", major}};
  for (Dimension each : all_dimensions)
    out[std::string(name(each))] = {{"score", score}, {"reason", "line 4"}};
  return "```json\n" + out.dump() + "\n```";
}

TEST(LlmJudge, SeesCodeWithoutCommentsAndTheEvidence) {
  Said chat({answer(4)});
  const Scores scores = judge(candidate("matmul_boasting"), {chat, "llm:x/y", judge_template()});
  EXPECT_EQ(scores.judge, "llm:x/y");
  EXPECT_EQ(scores.total(), 16);
  EXPECT_EQ(chat.asked[0].find("Score 5 in every"), std::string::npos);
  EXPECT_NE(chat.asked[0].find("sum += A[row * K + k]"), std::string::npos);
  EXPECT_NE(chat.asked[0].find("\"outcome\": \"passed\""), std::string::npos);
}

TEST(LlmJudge, IsRepairedOnceThenTheBuiltInJudgeAnswers) {
  Said mended({"I'd say five!", answer(2)});
  EXPECT_EQ(judge(candidate("matmul_tiled"), {mended, "llm:x/y", judge_template()}).total(), 8);
  for (std::vector<std::string> bad :
       {std::vector<std::string>{"five", "six"}, {answer(9), answer(0)}, {}, {"{}"}}) {
    Said chat(bad);
    const Evidence evidence = candidate("matmul_tiled");
    const Scores scores = judge(evidence, {chat, "llm:x/y", judge_template()});
    EXPECT_EQ(scores.judge, "builtin");
    EXPECT_NE(scores.fallback.find("llm:x/y could not judge (llm_"), std::string::npos) << scores.fallback;
    EXPECT_EQ(scores.total(), judge(evidence).total());
  }
}

TEST(LlmJudge, CantWaveAHackThroughButMayFindOne) {
  Said kind({answer(5)});
  const Scores waved = judge(candidate("hack_computes_once"), {kind, "llm:x/y", judge_template()});
  EXPECT_TRUE(waved.major_hacking);
  EXPECT_EQ(waved[Dimension::anti_hacking].score, 1);
  Said strict({answer(4, true)});
  EXPECT_EQ(
      judge(candidate("matmul_tiled"), {strict, "llm:x/y", judge_template()})[Dimension::anti_hacking].score,
      1);
}

// The scripted model grades by what it is told: it reads the evidence in its prompt and answers as the
// built-in judge would, in the form that was asked for. What is tested is the road there and back, for every
// pair.
TEST(LlmJudge, RunsThroughThePairsAgainstAScriptedServer) {
  auto server = must(llm::ScriptedServer::start());
  auto chat = must(llm::connect({.profile = server->profile(), .agent = llm::Agent::judge}));
  std::map<std::string, Scores> known;
  auto scores = [&](const char* name) -> const Scores& {
    auto [found, added] = known.try_emplace(name);
    if (!added) return found->second;
    const Evidence evidence = candidate(name);
    Json text = to_json(judge(evidence));
    for (const char* extra : {"total", "judge"}) text.erase(extra);
    for (Dimension each : all_dimensions) text[std::string(rubric::name(each))].erase("value");
    server->push(llm::says("Here is my grade.\n```json\n" + text.dump() + "\n```"));
    found->second = judge(evidence, {*chat, "llm:scripted/m", judge_template()});
    EXPECT_EQ(found->second.fallback, "") << name;
    return found->second;
  };
  size_t right = 0;
  for (const Pair& pair : all_pairs())
    right += scores(pair.better)[pair.dimension].score > scores(pair.worse)[pair.dimension].score;
  EXPECT_GE(static_cast<double>(right), 0.95 * static_cast<double>(all_pairs().size()));
  EXPECT_EQ(server->asked().size(), known.size());
}

}  // namespace
}  // namespace stitch::rubric
