#include "llm/account.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/machine/time_account.h"
#include "llm/wire/wire.h"

namespace stitch::llm {

namespace {

constexpr int64_t shortest_answer = 256;  // tokens; below that no answer of ours fits
constexpr size_t bytes_per_token = 3;

void add(Usage& sum, const Usage& one) {
  sum.input += one.input;
  sum.output += one.output;
  sum.cached += one.cached;
  sum.cache_write += one.cache_write;
  sum.reasoning += one.reasoning;
  sum.estimated |= one.estimated;
}

void add(Spent& sum, const Spent& one) {
  sum.requests += one.requests;
  sum.failed += one.failed;
  add(sum.usage, one.usage);
  sum.dollars += one.dollars;
  sum.unpriced += one.unpriced;
  sum.seconds += one.seconds;
}

Json spent_json(const Spent& spent) {
  return {{"requests", spent.requests}, {"failed", spent.failed},     {"usage", llm::to_json(spent.usage)},
          {"dollars", spent.dollars},   {"unpriced", spent.unpriced}, {"seconds", spent.seconds}};
}

}  // namespace

double dollars_for(const Usage& usage, const Price& price) {
  const auto plain =
      static_cast<double>(std::max<int64_t>(0, usage.input - usage.cached - usage.cache_write));
  return (plain * price.input + static_cast<double>(usage.cached) * price.cached.value_or(price.input) +
          static_cast<double>(usage.cache_write) * price.cache_write.value_or(price.input) +
          static_cast<double>(usage.output) * price.output) /
         1e6;
}

int64_t estimated_tokens(const Request& request) {
  size_t bytes = 0;
  for (const Message& message : request.messages) {
    bytes += message.text.size() + message.tool_call_id.size() + 16;
    for (const ToolCall& call : message.tool_calls) bytes += call.name.size() + call.arguments.size() + 16;
    if (message.reasoning_blocks) bytes += message.reasoning_blocks->dump().size();
  }
  for (const ToolSpec& tool : request.tools)
    bytes += tool.name.size() + tool.description.size() + tool.schema->dump().size();
  if (request.answer_schema) bytes += request.answer_schema->dump().size();
  return static_cast<int64_t>(bytes / bytes_per_token + 1);
}

Result<Account::Hold> Account::hold(int64_t prompt_tokens, int64_t max_tokens,
                                    const std::optional<Price>& price) {
  std::lock_guard lock(mutex_);
  Spent sum;
  for (const Spent& one : spent_) add(sum, one);
  const int64_t least = std::min(shortest_answer, max_tokens);
  int64_t allowed = max_tokens;
  if (budget_.tokens) {
    const int64_t left = *budget_.tokens - sum.usage.total() - held_tokens_;
    allowed = std::min(allowed, left - prompt_tokens);
    if (allowed < least)
      return work_error("llm_budget",
                        format("the token budget is spent: {} of {} left, the next request needs about {}",
                               std::max<int64_t>(0, left), *budget_.tokens, prompt_tokens + least),
                        "raise --max-tokens");
  }
  double dollars = 0;
  if (budget_.dollars) {
    if (!price)
      return user_error("llm_budget", "the cost is limited, but this model's price is unknown",
                        "price = {input = …, output = …} in the profile, or --max-tokens");
    const double left = *budget_.dollars - sum.dollars - held_dollars_;
    const double prompt = dollars_for({.input = prompt_tokens}, *price);
    if (price->output > 0)
      allowed = static_cast<int64_t>(
          std::clamp((left - prompt) / price->output * 1e6, -1.0, static_cast<double>(allowed)));
    if (left < prompt || allowed < least)
      return work_error(
          "llm_budget",
          format("the dollar budget is spent: ${:.4f} of ${:.2f} left, the next request may cost ${:.4f}",
                 std::max(0.0, left), *budget_.dollars,
                 dollars_for({.input = prompt_tokens, .output = least}, *price)),
          "raise --max-dollars");
    dollars = dollars_for({.input = prompt_tokens, .output = allowed}, *price);
  }
  const Hold out{.max_tokens = allowed, .tokens = prompt_tokens + allowed, .dollars = dollars};
  held_tokens_ += out.tokens;
  held_dollars_ += out.dollars;
  return out;
}

void Account::settle(const Hold& hold, Agent agent, const Usage& usage, const std::optional<Price>& price,
                     double seconds, bool failed) {
  std::lock_guard lock(mutex_);
  held_tokens_ -= hold.tokens;
  held_dollars_ -= hold.dollars;
  add(spent_[static_cast<size_t>(agent)], {.requests = 1,
                                           .failed = failed ? 1 : 0,
                                           .usage = usage,
                                           .dollars = price ? dollars_for(usage, *price) : 0,
                                           .unpriced = price || usage.total() == 0 ? 0 : 1,
                                           .seconds = seconds});
}

Spent Account::spent(Agent agent) const {
  std::lock_guard lock(mutex_);
  return spent_[static_cast<size_t>(agent)];
}

Spent Account::total() const {
  std::lock_guard lock(mutex_);
  Spent sum;
  for (const Spent& one : spent_) add(sum, one);
  return sum;
}

Json Account::to_json() const {
  Json out = Json::object();
  for (size_t i = 0; i < agents; ++i)
    if (Spent one = spent(static_cast<Agent>(i)); one.requests > 0)
      out[std::string(name(static_cast<Agent>(i)))] = spent_json(one);
  out["total"] = spent_json(total());
  return out;
}

AccountedChat::AccountedChat(std::unique_ptr<Chat> inner, Account& account, Agent agent, int64_t max_tokens,
                             std::optional<Price> price)
    : inner_(std::move(inner)), account_(account), agent_(agent), max_tokens_(max_tokens), price_(price) {}

Result<Reply> AccountedChat::ask(const Request& request, const AskOptions& options) {
  const int64_t prompt = estimated_tokens(request);
  STITCH_TRY(const Account::Hold hold,
             account_.hold(prompt, request.max_tokens.value_or(max_tokens_), price_));
  Request bounded = request;
  bounded.max_tokens = hold.max_tokens;
  // A try that breaks off was paid for, too.
  size_t streamed = 0;
  AskOptions counted = options;
  counted.on_text = [&](std::string_view piece) {
    streamed += piece.size();
    if (options.on_text) options.on_text(piece);
  };
  counted.on_reasoning = [&](std::string_view piece) {
    streamed += piece.size();
    if (options.on_reasoning) options.on_reasoning(piece);
  };
  const auto start = Clock::now();
  auto reply = inner_->ask(bounded, counted);
  Usage usage;
  if (reply)
    usage = reply->usage;
  else if (streamed > 0)
    usage = {
        .input = prompt, .output = static_cast<int64_t>(streamed / bytes_per_token + 1), .estimated = true};
  const double seconds = seconds_since(start);
  account_.settle(hold, agent_, usage, price_, seconds, !reply);
  return reply;
}

}  // namespace stitch::llm
