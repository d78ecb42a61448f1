#include "llm/retry.h"

#include <gtest/gtest.h>

#include "llm/testing.h"

namespace stitch::llm {
namespace {

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

}  // namespace
}  // namespace stitch::llm
