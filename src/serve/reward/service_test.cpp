// The service as its clients meet it: over HTTP, judged by a made-up scorer, so that it takes no time.
#include "serve/reward/service.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/testdata/must.h"
#include "base/text.h"
#include "http/client.h"
#include "serve/reward/forms.h"

namespace stitch::serve {
namespace {

using namespace std::chrono_literals;

// The reward is the code's length; "hack" is one, "break" is the machine's fault.
class LengthScorer final : public Scorer {
 public:
  Json score(const TaskFile& task, const Submission& submission) override {
    ++judged;
    const std::string& code = submission.code.text;
    while (held) std::this_thread::sleep_for(5ms);
    const bool broken = code.find("break") != std::string::npos;
    const bool hack = code.find("hack") != std::string::npos;
    Json out = {
        {"task", task.name},
        {"reward", broken || hack ? 0.0 : static_cast<double>(code.size())},
        {"counted", !broken},
        {"label", broken ? "not judged"
                  : hack ? "hack"
                         : "correct, not timed"},
        {"components", {{"rule", 0.5}, {"total", 12}, {"skill", submission.from_feedback() ? 2 : 1}}},
        {"verdict", {{"verdict", broken ? "not judged" : "passed"}, {"reason", submission.code.missing}}},
        {"feedback", "faster, please"}};
    out["seconds"] = {{"total", 0.01}, {"build", 0.004}, {"run", 0.005}, {"open", 0.0}};
    out["machine"] = "here";
    out["date"] = "2026-01-01T00:00:00Z";
    return out;
  }
  void build(const Submission&) override {}
  std::atomic<int> judged = 0;
  std::atomic<bool> held = false;
};

class Service : public testing::Test {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitch_service")));
    fs::create_directories(scratch->path() / "tasks/level1");
    const char* task =
        "import shared\nclass Model: pass\ndef get_init_inputs(): return []\ndef get_inputs(): return []\n";
    for (const char* name : {"1_Square", "2_Sum"})
      ASSERT_TRUE(write_file(scratch->path() / "tasks/level1" / (std::string(name) + ".py"), task));
    ASSERT_TRUE(write_file(scratch->path() / "tasks/level1/shared.py", "x = 1\n"));
    options.tasks = scratch->path() / "tasks";
    options.state = scratch->path() / "state";
    options.scored_by = scorer;
    options.jobs = 2;
  }
  void start() {
    service.reset();
    service = must(RewardService::start(options));
  }
  http::Response ask(std::string method, std::string path, std::string body = {},
                     http::Headers headers = {}) const {
    auto answer = http::call({.method = std::move(method),
                              .url = {.host = "127.0.0.1", .path = std::move(path), .port = service->port()},
                              .headers = std::move(headers),
                              .body = std::move(body)});
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? *std::move(answer) : http::Response{.status = 0};
  }
  Json post(const std::string& path, const Json& body, int status = 200) const {
    const http::Response answer = ask("POST", path, line_text(body));
    EXPECT_EQ(answer.status, status) << answer.body;
    auto json = parse_json(answer.body);
    return json ? *std::move(json) : Json();
  }
  Json status() const { return *parse_json(ask("GET", "/status").body); }

  std::optional<ScratchFolder> scratch;
  std::shared_ptr<LengthScorer> scorer = std::make_shared<LengthScorer>();
  ServiceOptions options;
  std::unique_ptr<RewardService> service;
};

TEST_F(Service, JudgesEachCandidateOnceAlsoAfterARestart) {
  start();
  const Json item = {{"task", "1_Square"}, {"code", "12345"}};
  std::vector<std::thread> clients;
  std::atomic<int> right = 0;
  for (int i = 0; i < 60; ++i)
    clients.emplace_back([&] { right += post("/score", item).value("reward", 0.0) == 5.0; });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 60);
  EXPECT_EQ(scorer->judged, 1);
  const std::string key = word(post("/score", item), "key");
  start();
  EXPECT_EQ(post("/score", item).at("reward"), 5.0);
  EXPECT_EQ(word(*parse_json(ask("GET", "/score/" + key).body), "label"), "correct, not timed");
  EXPECT_EQ(scorer->judged, 1);
  // Another task, another language, another program before: another candidate.
  post("/score", {{"task", "level1/2_Sum"}, {"code", "12345"}});
  post("/score", {{"task", "1_Square"}, {"code", "12345"}, {"language", "python"}});
  post("/score", {{"task", "1_Square"}, {"code", "12345"}, {"before", "1"}, {"feedback", "x"}});
  EXPECT_EQ(scorer->judged, 4);
  // A module that the task imports has changed.
  std::this_thread::sleep_for(10ms);
  ASSERT_TRUE(write_file(options.tasks / "level1/shared.py", "x = 2\n"));
  post("/score", item);
  EXPECT_EQ(scorer->judged, 5);
}

TEST_F(Service, WhatIsWrongIsSaidAndNeverA5xx) {
  start();
  auto refused = [&](const std::string& body, int status_expected, const char* words) {
    const http::Response answer = ask("POST", "/score", body);
    EXPECT_EQ(answer.status, status_expected) << body;
    EXPECT_NE(answer.body.find(words), std::string::npos) << answer.body;
  };
  refused("{", 400, "error");
  refused("[1]", 200, "refused");
  refused("7", 400, "object");
  refused(R"({"task": "1_Square"})", 400, "is missing");
  refused(R"({"task": 7, "code": "x"})", 400, "task");
  refused(R"({"task": "1_Sqare", "code": "x"})", 404, "1_Square");
  refused(R"({"task": "../../etc/passwd", "code": "x"})", 404, "no task");
  refused(R"({"task": "1_Square", "code": "x", "language": "rust"})", 400, "rust");
  refused(R"({"task": "1_Square", "code": "x", "skill": "from feedback"})", 400, "before");
  EXPECT_EQ(ask("GET", "/nothing").status, 404);
  EXPECT_EQ(ask("GET", "/score").status, 405);
  EXPECT_EQ(ask("GET", "/score/unknown").status, 404);
  // Bad candidates are candidates.
  EXPECT_EQ(post("/score", {{"task", "1_Square"}, {"response", "I can't."}}).at("state"), "done");
  const Json cut = post("/score", {{"task", "1_Square"}, {"response", "```cuda\nint main("}});
  EXPECT_NE(word(cut["verdict"], "reason").find("is not closed"), std::string::npos);
  std::string long_code(100'000, 'x');
  EXPECT_EQ(post("/score", {{"task", "1_Square"}, {"code", long_code}}).at("reward"), 100'000.0);
  EXPECT_EQ(ask("POST", "/score", std::string(size_t{9} << 20, 'x')).status, 413);
}

TEST_F(Service, WhatWasNotJudgedHasItsLabelAndIsTriedAgain) {
  start();
  const Json item = {{"task", "1_Square"}, {"code", "break"}};
  const Json answer = post("/score", item);
  EXPECT_EQ(answer.at("label"), "not judged");
  EXPECT_EQ(answer.at("counted"), false);
  post("/score", item);
  EXPECT_EQ(scorer->judged, 2);
}

TEST_F(Service, AFullQueueSaysWhenToComeAgainAndASlowOneWhereToAsk) {
  options.most_waiting = 2;
  options.jobs = 1;
  start();
  scorer->held = true;
  std::vector<Json> items;
  for (int i = 0; i < 4; ++i)
    items.push_back({{"task", "1_Square"}, {"code", "number " + std::to_string(i)}});
  const Json waiting = post("/score?wait=0", items[0], 202);
  EXPECT_EQ(waiting.at("state"), "waiting");
  for (int i = 0; i < 6000 && scorer->judged == 0; ++i) std::this_thread::sleep_for(10ms);
  post("/score?wait=0", items[1], 202);
  post("/score?wait=0", items[2], 202);
  const http::Response full = ask("POST", "/score?wait=0", line_text(items[3]));
  EXPECT_EQ(full.status, 429);
  EXPECT_FALSE(full.header("retry-after").empty());
  // Engines that take 202 for an answer are told 429.
  EXPECT_EQ(
      ask("POST", "/slime?wait=0", R"({"prompt": "p", "response": "number 1", "label": "1_Square"})").status,
      429);
  scorer->held = false;
  EXPECT_EQ(parse_json(ask("GET", "/score/" + word(waiting, "key") + "?wait=20").body)->at("reward"), 8.0);
}

TEST_F(Service, ManyAtOnceAreAnsweredInTheirOrder) {
  start();
  Json items = Json::array();
  for (int i = 0; i < 50; ++i)
    items.push_back({{"task", "1_Square"}, {"code", std::string(static_cast<size_t>(i + 1), 'x')}});
  items.push_back({{"task", "nowhere"}, {"code", "x"}});
  const Json answers = post("/score", {{"items", items}}).at("answers");
  ASSERT_EQ(answers.size(), 51u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(answers[static_cast<size_t>(i)].at("reward"), i + 1);
  EXPECT_EQ(answers[50].at("state"), "refused");
}

TEST_F(Service, SpeaksTheFormsOfOtherEngines) {
  start();
  const std::string said = "Here it is:\n```cuda\nint stitch_run();\n```\n";  // 18 characters of code
  const Json open = post("/openrlhf", {{"query", {"<s>Write.\n```python\nclass Model\n```" + said, said}},
                                       {"prompts", {"Write.\n```python\nclass Model\n```", ""}},
                                       {"labels", {"1_Square", R"({"task": "2_Sum"})"}}});
  EXPECT_EQ(open.at("rewards"), (Json{18.0, 18.0}));
  EXPECT_EQ(open.at("scores"), open.at("rewards"));
  EXPECT_EQ(open.at("extra_logs").at("correct"), (Json{1.0, 1.0}));
  const Json slime = {{"prompt", "Write."}, {"response", said}, {"label", "1_Square"}};
  EXPECT_EQ(post("/slime", slime), 18.0);
  EXPECT_EQ(post("/slime?full=1", slime).at("score"), 18.0);
  const Json message = {
      {"type", "message"}, {"role", "assistant"}, {"content", {{{"type", "output_text"}, {"text", said}}}}};
  const Json row = {{"responses_create_params", {{"input", "Write."}}},
                    {"response", {{"id", "r"}, {"output", Json::array({message})}}},
                    {"verifier_metadata", {{"task_id", "1_Square"}}}};
  const Json gym = post("/verify", row);
  EXPECT_EQ(gym.at("reward"), 18.0);
  EXPECT_EQ(gym.at("response"), row["response"]);
  EXPECT_EQ(gym.at("mask_sample"), false);
  EXPECT_EQ(gym.at("reward_components").at("rule"), 0.5);
  EXPECT_EQ(post("/seed_session", Json::object()), Json::object());
  EXPECT_EQ(scorer->judged, 2);
  for (const Form& form : all_forms())
    for (const char* wrong : {"{}", "[]", "null", "{\"query\": 7, \"response\": 7, \"label\": 7}"})
      EXPECT_LT(ask("POST", std::string(form.path), wrong).status, 500) << form.path << wrong;
}

TEST_F(Service, WhoHangsUpLosesNothing) {
  start();
  const Json item = {{"task", "1_Square"}, {"code", "code"}};
  scorer->held = true;
  auto gone = http::call({.method = "POST",
                          .url = {.host = "127.0.0.1", .path = "/score", .port = service->port()},
                          .body = line_text(item),
                          .time_limit = 100ms});
  ASSERT_FALSE(gone);
  scorer->held = false;
  EXPECT_EQ(post("/score", item).at("reward"), 4.0);
  EXPECT_EQ(scorer->judged, 1);
}

TEST_F(Service, WhatWasAcceptedIsJudgedAfterAKill) {
  // A process that accepts three, judges one, and is killed.
  const pid_t child = ::fork();
  if (child == 0) {
    start();
    post("/score", {{"task", "1_Square"}, {"code", "done"}});
    scorer->held = true;
    for (const char* code : {"one", "two"})
      post("/score?wait=0", {{"task", "1_Square"}, {"code", code}}, 202);
    ::kill(::getpid(), SIGKILL);
  }
  int ended = 0;
  ::waitpid(child, &ended, 0);
  ASSERT_TRUE(WIFSIGNALED(ended));
  // Half a line, as a full disk leaves it.
  { std::ofstream(options.state / "answers.jsonl", std::ios::app) << "{\"key\": \"ha"; }
  start();
  EXPECT_EQ(service->left_from_before(), 2u);
  for (int i = 0; i < 6000 && scorer->judged < 2; ++i) std::this_thread::sleep_for(10ms);
  for (const char* code : {"done", "one", "two"}) post("/score", {{"task", "1_Square"}, {"code", code}});
  EXPECT_EQ(scorer->judged, 2);
  // No other service in the same folder meanwhile.
  auto second = RewardService::start(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, "busy");
}

TEST_F(Service, AsksForItsToken) {
  options.token = "secret-token";
  start();
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
  EXPECT_EQ(ask("GET", "/status").status, 401);
  EXPECT_EQ(ask("GET", "/status", "", {{"Authorization", "Bearer secret-tokem"}}).status, 401);
  EXPECT_EQ(ask("GET", "/status", "", {{"Authorization", "Bearer secret-token"}}).status, 200);
  EXPECT_EQ(ask("GET", "/status", "", {{"Authorization", "Basic OnNlY3JldC10b2tlbg=="}}).status, 200);
  EXPECT_EQ(ask("GET", "/status?token=secret-token").status, 200);
  EXPECT_EQ(ask("POST", "/fleet/lease", "{}").status, 401);
  options.token.clear();
  start();
  EXPECT_EQ(ask("GET", "/status", "", {{"Origin", "http://elsewhere.example"}}).status, 403);
  EXPECT_EQ(ask("GET", "/status", "", {{"Host", "localhost:80"}}).status, 200);
  for (const char* elsewhere : {"elsewhere.example", "127.0.0.attacker.com", "127.1.2.attacker.com:80"})
    EXPECT_EQ(ask("GET", "/status", "", {{"Host", elsewhere}}).status, 403) << elsewhere;
}

TEST_F(Service, WorkersElsewhereGetTheTaskAndHandAnswersIn) {
  options.judge_here = false;
  start();
  post("/score?wait=0", {{"task", "1_Square"}, {"code", "x"}}, 202);
  const Json lease = post("/fleet/lease", {{"worker", "far"}, {"device", "emulated"}, {"wait", 1}});
  EXPECT_EQ(lease.at("payload").at("files").size(), 2u);
  EXPECT_EQ(lease.at("payload").at("judging").at("reward"), "combined");
  const Json done = {{"lease", lease["lease"]}, {"key", lease["key"]}};
  Json wrong = done, right = done;
  wrong["result"] = {{"reward", "much"}};
  post("/fleet/done", wrong, 400);
  right["result"] = {
      {"key", lease["key"]}, {"reward", 0.25}, {"counted", true}, {"label", "wrong"}, {"machine", "far"}};
  EXPECT_EQ(post("/fleet/done", right).at("counted"), true);
  EXPECT_EQ(post("/fleet/done", right).at("counted"), false);
  EXPECT_EQ(post("/score", {{"task", "1_Square"}, {"code", "x"}}).at("machine"), "far");
}

TEST_F(Service, SaysWhatItSees) {
  options.page = [](const Json& status) { return format("{} judged", status["judged"].dump()); };
  start();
  post("/score", {{"task", "1_Square"}, {"code", "fine"}});
  post("/score", {{"task", "1_Square"}, {"code", "hack"}});
  const Json now = status();
  EXPECT_EQ(now.at("labels")["hack"], 1);
  EXPECT_EQ(now.at("curve").size(), 2u);
  const std::string metrics = ask("GET", "/metrics").body;
  for (const char* line : {"stitchcuda_queue_length 0\n", "stitchcuda_verdicts_total{label=\"hack\"} 1\n",
                           "stitchcuda_judging_seconds_bucket{le=\"+Inf\"} 2\n",
                           "stitchcuda_requests_total{path=\"/score\",status=\"200\"} 2\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << metrics;
  EXPECT_EQ(ask("GET", "/").body, "2 judged");
}

}  // namespace
}  // namespace stitch::serve
