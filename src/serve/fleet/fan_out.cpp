#include "serve/fleet/fan_out.h"

#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error_codes.h"
#include "http/client.h"
#include "serve/reward/forms.h"

namespace stitch::serve {

namespace {

constexpr int most_silent = 12;  // unanswered requests to the engine before all workers count as lost

}  // namespace

std::string random_token() {
  std::random_device random;
  std::string out;
  for (int i = 0; i < 4; ++i) out += format("{:08x}", random());
  return out;
}

std::string own_host() {
  std::array<char, 256> host{};
  return ::gethostname(host.data(), host.size() - 1) == 0 && host[0] ? host.data() : "127.0.0.1";
}

FanOut::FanOut(FanOutOptions options)
    : options_(std::move(options)),
      queue_({.lease_time = std::chrono::milliseconds(static_cast<int64_t>(1000 * options_.lease_seconds)),
              .given_up = std::make_shared<const Json>(),
              .settle =
                  [this](const Work& work, const SharedJson&) {
                    if (options_.on_running) options_.on_running(work.key, false);
                  },
              .on_leased =
                  [this](const std::string&, const Work& work) {
                    if (options_.on_running) options_.on_running(work.key, true);
                  },
              .on_lost = [this](const std::string& worker, const Work& work,
                                int losses) { lost(worker, work, losses); }}),
      desk_(queue_, {.device = options_.fleet.gpu ? "cuda" : "emulated",
                     .renew_every = options_.lease_seconds / 4,
                     .largest_result = size_t{64} << 20,
                     .is_result = options_.is_result}) {}

FanOut::~FanOut() {
  {
    std::lock_guard hold(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  fleet_.reset();
  server_.reset();
}

Result<std::unique_ptr<FanOut>> FanOut::start(FanOutOptions options) {
  if (options.fleet.token.empty()) options.fleet.token = random_token();
  const std::string host = options.at.empty() ? own_host() : options.at;
  std::unique_ptr<FanOut> out(new FanOut(options));
  http::ServerOptions listening{.host = options.host};
  listening.limits.body = size_t{64} << 20;
  STITCH_TRY(out->server_, http::Server::start(
                               listening,
                               [desk = &out->desk_](http::Request&& request, http::Reply reply) {
                                 if (!desk->handle(request, reply))
                                   reply.send({.status = 404, .body = "{}\n"});
                               },
                               door(options.fleet.token)));
  options.fleet.server = http::Url{.host = host, .port = out->server_->port()}.origin();
  STITCH_TRY(out->fleet_, Fleet::start(options.fleet));
  out->state_.waiting = options.fleet.workers;
  out->watcher_ = std::thread([self = out.get()] { self->watch(); });
  return out;
}

void FanOut::lost(const std::string& worker, const Work& work, int losses) {
  const int most = QueueOptions{}.most_losses;
  if (options_.on_running && losses < most) options_.on_running(work.key, false);
  if (options_.on_notice) options_.on_notice(lost_text(worker, work.key, losses, most));
}

void FanOut::watch() {
  std::unique_lock lock(mutex_);
  int silent = 0;
  while (!changed_.wait_for(lock, std::chrono::duration<double>(options_.count_workers_every),
                            [&] { return ending_; })) {
    const FleetState before = state_;
    lock.unlock();
    auto state = fleet_->state();
    if (const std::string ended = state ? said_of_ended(*fleet_, before, *state) : std::string();
        !ended.empty() && options_.on_notice)
      options_.on_notice(ended);
    lock.lock();
    silent = state ? 0 : silent + 1;
    if (state) state_ = *state;
    const bool nobody = state && state->running + state->waiting == 0;
    if (nobody || silent >= most_silent) {
      over_ = nobody ? work_error("no_workers", format("all workers of {} have ended", fleet_->name()),
                                  format("logs: {}; the same command resumes", fleet_->logs()))
                     : state.error();
      changed_.notify_all();
      return;
    }
  }
}

Result<SharedJson> FanOut::run(const Work& work) {
  // Outlives this call if it is stopped.
  struct Box {
    std::mutex mutex;
    std::condition_variable filled;
    SharedJson result;
  };
  auto box = std::make_shared<Box>();
  const auto taken = queue_.submit(work, [box](const SharedJson& done) {
    std::lock_guard hold(box->mutex);
    box->result = done;
    box->filled.notify_all();
  });
  if (taken == WorkQueue::Submitted::full) return work_error("full", "the queue is full");
  std::unique_lock lock(box->mutex);
  while (
      !box->filled.wait_for(lock, std::chrono::milliseconds(200), [&] { return box->result != nullptr; })) {
    if (options_.should_stop && options_.should_stop())
      return work_error(error_code::stopped, "stopped on request");
    std::lock_guard hold(mutex_);
    if (over_) return *over_;
  }
  if (box->result->is_null()) return work_error(error_code::worker_lost, "its workers stopped responding");
  return box->result;
}

std::optional<Error> FanOut::over() const {
  std::lock_guard hold(mutex_);
  return over_;
}

std::string FanOut::said() const {
  std::lock_guard hold(mutex_);
  return format("{}: {} running, {} waiting", fleet_->name(), state_.running, state_.waiting);
}

}  // namespace stitch::serve
