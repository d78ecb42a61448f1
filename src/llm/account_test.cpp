#include "llm/account.h"

#include <gtest/gtest.h>

#include "llm/testing.h"

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

}  // namespace
}  // namespace stitch::llm
