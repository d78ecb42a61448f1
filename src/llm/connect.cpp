#include "llm/connect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <thread>

#include "base/error_codes.h"
#include "base/text.h"

namespace stitch::llm {

namespace {
constexpr std::array retried = {"llm_rate_limit", "llm_server", "llm_timeout", "llm_dropped",
                                "llm_unreachable"};

double random_share() {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<>(0, 1)(generator);
}

bool sleep_watchfully(double seconds, const std::function<bool()>& should_stop) {
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (true) {
    if (should_stop && should_stop()) return false;
    const auto left = end - Clock::now();
    if (left <= Clock::duration::zero()) return true;
    std::this_thread::sleep_for(std::min<Clock::duration>(left, std::chrono::milliseconds(100)));
  }
}
}  // namespace

Pause real_pause() {
  return {[] { return Clock::now(); }, sleep_watchfully, random_share};
}

bool worth_a_retry(const Error& error) { return std::ranges::find(retried, error.code) != retried.end(); }

RetryingChat::RetryingChat(std::unique_ptr<Chat> inner, RetryPolicy policy, Pause pause)
    : inner_(std::move(inner)), policy_(policy), pause_(std::move(pause)) {}

Result<Reply> RetryingChat::ask(const Request& request, const AskOptions& options) {
  for (int number = 1;; ++number) {
    if (options.should_stop && options.should_stop())
      return work_error(error_code::stopped, "stopped on request");
    std::optional<double> demanded;
    AskOptions inner = options;
    inner.on_retry_after = [&](double seconds) {
      demanded = seconds;
      if (options.on_retry_after) options.on_retry_after(seconds);
    };
    auto reply = inner_->ask(request, inner);
    if (reply || !worth_a_retry(reply.error())) return reply;
    Error error = std::move(reply).error();
    auto give_up = [&](const std::string& why) -> Result<Reply> {
      if (number > 1 || !why.empty())
        error.message += format(" (after {} {}{})", number, number == 1 ? "try" : "tries", why);
      return error;
    };
    if (number >= policy_.tries) return give_up("");
    // Half of it fixed, half of it random: clients that failed together don't come back together.
    const double doubled = policy_.first_wait * std::exp2(number - 1);
    double wait = std::min(policy_.longest_wait, doubled) * (0.5 + 0.5 * pause_.jitter());
    if (demanded) {
      if (*demanded > policy_.longest_demanded)
        return give_up(format("; it asks to wait for {}", seconds_text(*demanded)));
      wait = std::max(*demanded, wait * 0.1);
    }
    const auto until =
        pause_.now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait));
    if (options.deadline && until >= *options.deadline) return give_up("; no time is left for another");
    if (options.on_retry) options.on_retry(error, wait);
    if (!pause_.sleep(wait, options.should_stop))
      return work_error(error_code::stopped, "stopped on request");
  }
}

// From the inside out: one try; each try held against the budget; tries again; what came of it all written
// down.
Result<std::unique_ptr<Chat>> connect(Connection connection) {
  const Profile& profile = connection.profile;
  STITCH_TRY(std::optional<std::string> key, key_of(profile, connection.environment));
  auto transport = connection.transport ? connection.transport : http_transport(connection.environment);
  std::unique_ptr<Chat> chat = std::make_unique<HttpChat>(profile, key.value_or(""), std::move(transport),
                                                          connection.max_answer_bytes);
  if (connection.account)
    chat = std::make_unique<AccountedChat>(std::move(chat), *connection.account, connection.agent,
                                           most_answer_tokens(profile), price_of(profile));
  chat = std::make_unique<RetryingChat>(std::move(chat), connection.retry, connection.pause);
  if (connection.transcript)
    chat = std::make_unique<RecordingChat>(std::move(chat), connection.agent, profile.name, profile.model,
                                           connection.transcript);
  return chat;
}

}  // namespace stitch::llm
