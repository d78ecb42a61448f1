// What each agent has used, and a budget that no request may exceed.
#pragma once

#include <array>
#include <mutex>

#include "llm/chat.h"
#include "llm/profiles/profile.h"

namespace stitch::llm {

struct Spent {
  int64_t requests = 0;  // each try counts
  int64_t failed = 0;    // of requests
  Usage usage;
  double dollars = 0;
  int64_t unpriced = 0;  // requests to models whose price is unknown: dollars are without them
  double seconds = 0;
};

struct Budget {
  std::optional<int64_t> tokens;  // input and output
  std::optional<double> dollars;
};

double dollars_for(const Usage& usage, const Price& price);

// Safe to use from several threads.
class Account {
 public:
  explicit Account(Budget budget = {}) : budget_(budget) {}

  // What a request may cost, held back until it is settled.
  struct Hold {
    int64_t max_tokens = 0;  // what the answer may have
    int64_t tokens = 0;
    double dollars = 0;
  };
  // An answer of up to `max_tokens`, fewer where the budget ends before; "llm_budget" where not even a short
  // one fits, or where dollars are limited and the model's price is unknown.
  Result<Hold> hold(int64_t prompt_tokens, int64_t max_tokens, const std::optional<Price>& price);
  void settle(const Hold& hold, Agent agent, const Usage& usage, const std::optional<Price>& price,
              double seconds, bool failed);

  Spent spent(Agent agent) const;
  Spent total() const;
  const Budget& budget() const { return budget_; }
  // {"planner": {…}, …, "total": {…}}; agents that never asked are left out.
  Json to_json() const;

 private:
  static constexpr size_t agents = 5;
  mutable std::mutex mutex_;
  const Budget budget_;
  std::array<Spent, agents> spent_;
  int64_t held_tokens_ = 0;
  double held_dollars_ = 0;
};

// Bytes / 3: more than tokenizers make of English and of code.
int64_t estimated_tokens(const Request& request);

// Every request of `inner` is held against the budget and settled. A try that broke off is charged by
// estimate.
class AccountedChat final : public Chat {
 public:
  AccountedChat(std::unique_ptr<Chat> inner, Account& account, Agent agent, int64_t max_tokens,
                std::optional<Price> price);
  Result<Reply> ask(const Request& request, const AskOptions& options) override;

 private:
  const std::unique_ptr<Chat> inner_;
  Account& account_;
  const Agent agent_;
  const int64_t max_tokens_;  // of requests that name none
  const std::optional<Price> price_;
};

}  // namespace stitch::llm
