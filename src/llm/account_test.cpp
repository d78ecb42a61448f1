#include <gtest/gtest.h>

#include "base/testdata/must.h"
#include "llm/account.h"
#include "llm/connect.h"
#include "llm/testing.h"
#include "llm/transcript.h"

namespace stitch::llm {

namespace {

using namespace testing;

TEST(Account, Dollars) {
  const Usage usage{.input = 1000000, .output = 200000, .cached = 600000, .cache_write = 100000};
  EXPECT_DOUBLE_EQ(dollars_for(usage, {.input = 3, .output = 15}), 3 + 3);
  EXPECT_DOUBLE_EQ(dollars_for(usage, {.input = 3, .output = 15, .cached = 0.3, .cache_write = 3.75}),
                   0.9 + 0.18 + 0.375 + 3);
}

TEST(Account, TokensAreHeldUntilTheyAreSettled) {
  Account account({.tokens = 1000});
  auto first = account.hold(300, 500, {});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->max_tokens, 500);
  EXPECT_EQ(account.hold(10, 500, {}).error().code, "llm_budget");  // 200 are left: no answer of 256 fits
  EXPECT_TRUE(account.hold(10, 50, {}));                            // but a short one was asked for
  account.settle(*first, Agent::coder, {.input = 280, .output = 20}, {}, 1.5, false);
  auto second = account.hold(300, 500, {});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->max_tokens, 1000 - 300 - 60 - 300);
  const Spent coder = account.spent(Agent::coder);
  EXPECT_EQ(coder.requests, 1);
  EXPECT_EQ(coder.usage.total(), 300);
  EXPECT_EQ(coder.unpriced, 1);
  EXPECT_EQ(account.spent(Agent::planner).requests, 0);
}

TEST(Account, Dollars2) {
  const Price price{.input = 1, .output = 10};  // per million
  Account account({.dollars = 0.01});
  auto hold = account.hold(1000, 5000, price);
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->max_tokens, 900);  // 0.001 for the prompt, 0.009 for the answer
  account.settle(*hold, Agent::judge, {.input = 1000, .output = 880}, price, 1, false);
  const Error error = account.hold(1000, 5000, price).error();
  EXPECT_EQ(error.code, "llm_budget");
  EXPECT_EQ(error.message,
            "the dollar budget is spent: $0.0002 of $0.01 left, the next request may cost $0.0036");
  EXPECT_EQ(account.hold(1000, 5000, std::nullopt).error().code, "llm_budget");
  EXPECT_TRUE(account.hold(1000000, 5000, Price{}));  // a local server costs nothing
}

TEST(Account, AsJson) {
  Account account;
  auto hold = account.hold(10, 10, {});
  account.settle(*hold, Agent::planner, {.input = 7, .output = 3, .cached = 2},
                 Price{.input = 1, .output = 1}, 2.5, true);
  EXPECT_EQ(account.to_json()["planner"]["failed"], 1);
  EXPECT_EQ(account.to_json()["total"], account.to_json()["planner"]);
}

TEST(AccountedChat, BoundsRequestsAndCountsThem) {
  Account account({.tokens = 2000});
  auto inner = std::make_unique<FakeChat>(
      std::deque<Outcome>{replies("yes"),
                          [](const Request&, const AskOptions& options) -> Result<Reply> {
                            options.on_text(std::string(300, 'x'));
                            return work_error("llm_dropped", "cut");
                          },
                          errs("llm_unreachable")});
  FakeChat& fake = *inner;
  AccountedChat chat(std::move(inner), account, Agent::coder, 5000, Price{.input = 1, .output = 1});
  ASSERT_TRUE(chat.ask(request("12345678901234567890"), {}));
  EXPECT_EQ(fake.asked[0].max_tokens, 2000 - 13);
  EXPECT_EQ(account.total().usage.total(), 15);
  // A stream that broke off was paid for; a server that wasn't there wasn't.
  EXPECT_EQ(chat.ask(request("?"), {}).error().code, "llm_dropped");
  EXPECT_EQ(account.total().usage.total(), 15 + 6 + 101);
  EXPECT_EQ(chat.ask(request("?"), {}).error().code, "llm_unreachable");
  EXPECT_EQ(account.total().usage.total(), 15 + 6 + 101);
  EXPECT_EQ(account.total().failed, 2);
  EXPECT_EQ(account.total().requests, 3);
  // Refused before anything is sent.
  EXPECT_EQ(chat.ask(request(std::string(6000, 'x')), {}).error().code, "llm_budget");
  EXPECT_EQ(fake.asked.size(), 3u);
}

using namespace testing;

struct Tries {
  Result<Reply> reply = work_error("none", "");
  std::vector<double> waits;
  size_t asked = 0;
};

Tries try_all(std::deque<Outcome> outcomes, AskOptions options = {}, RetryPolicy policy = {}) {
  Tries out;
  auto now = std::make_shared<Clock::time_point>(Clock::time_point() + std::chrono::hours(1));
  Pause pause{.now = [=] { return *now; },
              .sleep =
                  [=, &out](double seconds, const std::function<bool()>& should_stop) {
                    out.waits.push_back(seconds);
                    *now +=
                        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
                    return !should_stop || !should_stop();
                  },
              .jitter = [] { return 1.0; }};
  auto inner = std::make_unique<FakeChat>(std::move(outcomes));
  FakeChat& fake = *inner;
  RetryingChat chat(std::move(inner), policy, pause);
  out.reply = chat.ask(request("?"), options);
  out.asked = fake.asked.size();
  return out;
}

Outcome slow_down(double seconds) {
  return [=](const Request&, const AskOptions& options) -> Result<Reply> {
    options.on_retry_after(seconds);
    return work_error("llm_rate_limit", "slow down");
  };
}

TEST(Retry, WaitsTwiceAsLongEachTime) {
  const Tries got =
      try_all({errs("llm_server"), errs("llm_dropped"), errs("llm_timeout"), replies("at last")});
  ASSERT_TRUE(got.reply);
  EXPECT_EQ(got.reply->text, "at last");
  EXPECT_EQ(got.waits, (std::vector<double>{1, 2, 4}));
}

TEST(Retry, GivesUp) {
  const Tries got = try_all({errs("llm_server"), errs("llm_server"), errs("llm_server")}, {}, {.tries = 3});
  EXPECT_EQ(got.reply.error().code, "llm_server");
  EXPECT_EQ(got.reply.error().message, "as scripted (after 3 tries)");
}

TEST(Retry, OtherErrorsAreFinal) {
  for (const char* code : {"llm_auth", "llm_model", "llm_request", "llm_budget", "llm_certificate",
                           "llm_format", "llm_too_large", "stopped", "llm_deadline"}) {
    const Tries got = try_all({errs(code)});
    EXPECT_EQ(got.reply.error().code, code);
    EXPECT_EQ(got.asked, 1u);
    EXPECT_EQ(got.reply.error().message, "as scripted");
  }
}

TEST(Retry, TheServersTimeGoesBeforeOurs) {
  EXPECT_EQ(try_all({slow_down(7), replies("ok")}).waits, std::vector<double>{7});
  const Tries impatient = try_all({slow_down(4000)});
  EXPECT_EQ(impatient.asked, 1u);
  EXPECT_NE(impatient.reply.error().message.find("it asks to wait for"), std::string::npos);
}

TEST(Retry, NeverPastTheDeadline) {
  const auto start = Clock::time_point() + std::chrono::hours(1);
  const Tries got = try_all({errs("llm_server"), errs("llm_server"), errs("llm_server")},
                            {.deadline = start + std::chrono::milliseconds(3500)});
  EXPECT_EQ(got.waits, (std::vector<double>{1, 2}));
  EXPECT_EQ(got.reply.error().message, "as scripted (after 3 tries; no time is left for another)");
}

TEST(Retry, StopsWhileItWaits) {
  int looks = 0;
  const Tries got = try_all({errs("llm_server")}, {.should_stop = [&] { return ++looks > 1; }});
  EXPECT_EQ(got.reply.error().code, "stopped");
  EXPECT_EQ(got.asked, 1u);
}

TEST(Retry, SaysThatPiecesAreVoid) {
  std::vector<std::string> said;
  try_all({errs("llm_dropped"), replies("ok")}, {.on_retry = [&](const Error& error, double seconds) {
            said.push_back(format("{} {}", error.code, seconds));
          }});
  EXPECT_EQ(said, std::vector<std::string>{"llm_dropped 1"});
}

TEST(Retry, TheRealPauseLooksWhetherToStop) {
  const auto start = Clock::now();
  EXPECT_FALSE(real_pause().sleep(100, [] { return true; }));
  EXPECT_TRUE(real_pause().sleep(0.01, {}));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

using namespace testing;

// A conversation of two agents as lines.
std::string recorded() {
  std::string lines;
  TranscriptSink sink = [&](const Json& exchange) {
    lines += exchange.dump() + "\n";
    return Result<void>();
  };
  Reply full{
      .text = "done", .reasoning = "hm", .finish = Finish::tool_calls, .usage = {.input = 5, .output = 2}};
  full.tool_calls = {{"1", "read", "{}"}};
  full.reasoning_blocks = std::make_shared<const Json>(Json::array({{{"type", "thinking"}}}));
  RecordingChat coder(std::make_unique<FakeChat>(std::deque<Outcome>{replies(full), errs("llm_timeout")}),
                      Agent::coder, "p", "m", sink);
  RecordingChat planner(std::make_unique<FakeChat>(std::deque<Outcome>{replies("a plan")}), Agent::planner,
                        "p", "m", sink);
  EXPECT_TRUE(coder.ask(full_request(), {}));
  EXPECT_TRUE(planner.ask(request("plan?"), {}));
  EXPECT_FALSE(coder.ask(request("again"), {}));
  return lines;
}

TEST(Transcript, ReplaysByAgentInOrder) {
  auto parsed = must(Transcript::parse(recorded()));
  auto transcript = std::make_shared<Transcript>(std::move(parsed));
  ReplayChat planner(transcript, Agent::planner), coder(transcript, Agent::coder);
  std::string streamed;
  EXPECT_EQ(
      planner.ask(request("plan?"), {.on_text = [&](std::string_view piece) { streamed += piece; }})->text,
      "a plan");
  EXPECT_EQ(streamed, "a plan");
  auto reply = coder.ask(full_request(), {});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->reasoning, "hm");
  EXPECT_EQ(reply->tool_calls[0].name, "read");
  EXPECT_EQ(reply->finish, Finish::tool_calls);
  EXPECT_EQ(reply->usage.total(), 7);
  EXPECT_EQ(reply->reasoning_blocks->size(), 1u);
  EXPECT_EQ(coder.ask(request("again"), {}).error().code, "llm_timeout");
  EXPECT_EQ(coder.ask(request("more"), {}).error().message,
            "the coder sends 3 requests, but only 2 were recorded");
}

std::string difference(const Request& now) {
  auto parsed = Transcript::parse(recorded());
  return parsed->answer(Agent::coder, now).error().message;
}

TEST(Transcript, SaysWhatDiffers) {
  const std::string start = "request 1 of the coder differs from the recorded one: ";
  Request now = full_request();
  now.messages[1].text = "Read a.txt and\x1b c.txt.";
  EXPECT_EQ(difference(now),
            start +
                "message 2 (user), line 1: recorded \"Read a.txt and b.txt.\", now \"Read a.txt "
                "and? c.txt.\"");
  now = full_request();
  now.messages[1].text += "\nPlease.";
  EXPECT_EQ(difference(now), start + "message 2 (user), line 2: recorded no such line, now \"Please.\"");
  now = full_request();
  now.messages.pop_back();
  EXPECT_EQ(difference(now), start + "6 messages were recorded, now there are 5");
  now = full_request();
  now.messages[2].tool_calls.pop_back();
  EXPECT_EQ(difference(now), start + "message 3 (assistant) differs in its tool calls");
  now = full_request();
  now.messages[0].role = Role::user;
  EXPECT_EQ(difference(now), start + "message 1 (user) was a message of system");
  now = full_request();
  now.temperature = 0.6;
  EXPECT_EQ(difference(now), start + "\"temperature\" differs");
}

TEST(Transcript, FilesAreAppendedToAndReadBack) {
  auto folder = must(ScratchFolder::create("transcript"));
  const fs::path path = folder.path() / "chat.jsonl";
  for (int i = 0; i < 2; ++i) {
    auto sink = transcript_file(path);
    ASSERT_TRUE(sink);
    RecordingChat chat(std::make_unique<FakeChat>(std::deque<Outcome>{replies("\xFF broken")}), Agent::judge,
                       "p", "m", *sink);
    EXPECT_TRUE(chat.ask(request("\xFE?"), {}));
    EXPECT_FALSE(chat.sink_error());
  }
  auto read = must(Transcript::read(path));
  EXPECT_TRUE(read.answer(Agent::judge, request("\xFE?")));
  EXPECT_TRUE(read.answer(Agent::judge, request("\xFE?")));
  EXPECT_FALSE(transcript_file(folder.path() / "no" / "such" / "folder"));
}

TEST(Transcript, BadLinesAreNamed) {
  EXPECT_EQ(Transcript::parse("\n{\"agent\": ").error().where, "line 2");
  EXPECT_EQ(Transcript::parse("{\"agent\": \"coder\", \"request\": {}}").error().code, "llm_replay");
  EXPECT_EQ(Transcript::read("/no/such/file").error().exit_code(), 2);
}

TEST(Transcript, ASinkThatFailsDoesNotLoseTheReply) {
  RecordingChat chat(std::make_unique<FakeChat>(std::deque<Outcome>{replies("ok")}), Agent::coder, "p", "m",
                     [](const Json&) -> Result<void> { return work_error("disk", "full"); });
  EXPECT_TRUE(chat.ask(request("?"), {}));
  EXPECT_EQ(chat.sink_error()->code, "disk");
}

}  // namespace

}  // namespace stitch::llm
