#include "serve/fleet/worker.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/machine/time_account.h"

namespace stitch::serve {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr double longest_poll = 20;  // seconds

class Workers {
 public:
  Workers(const WorkerOptions& options, const Doer& doer) : options_(options), doer_(doer) {}

  Result<WorkerCounts> run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < std::max(options_.jobs, 1); ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    if (trouble_) return *trouble_;
    return counts_;
  }

 private:
  bool over() {
    if (options_.should_stop && options_.should_stop()) ended_ = true;
    return ended_;
  }

  Result<http::Response> post(const char* path, const Json& body, std::chrono::milliseconds limit) const {
    http::Call call{.method = "POST", .url = options_.server, .body = line_text(body), .time_limit = limit};
    call.url.path = path;
    call.headers.emplace_back("Content-Type", "application/json");
    if (!options_.token.empty()) call.headers.emplace_back("Authorization", "Bearer " + options_.token);
    return http::call(call);
  }

  void fail(Error error) {
    std::lock_guard hold(mutex_);
    if (!trouble_) trouble_ = std::move(error);
    ended_ = true;
  }

  void work() {
    auto heard = Clock::now(), busy = Clock::now();
    while (!over()) {
      auto answer = post("/fleet/lease",
                         {{"worker", options_.name}, {"device", options_.device}, {"wait", poll_seconds()}},
                         std::chrono::milliseconds(40'000));
      if (!answer || answer->status >= 500) {
        if (seconds_since(heard) > options_.patience)
          return fail(answer ? work_error("server", format("the service answered {}", answer->status))
                             : answer.error());
        doing(format("{} is unreachable; retrying", options_.server.origin()));
        std::this_thread::sleep_for(1s);
        continue;
      }
      heard = Clock::now();
      if (answer->status == 401)
        return fail(user_error("token", format("{} rejects the token", options_.server.origin()),
                               "the variable named by --token-env must hold the service's token"));
      if (answer->status == 200) {
        auto leased = parse_json(answer->body);
        if (leased && leased->is_object() && leased->contains("payload")) {
          do_it(*leased);
          busy = Clock::now();
          continue;
        }
      }
      if (answer->status != 200 && answer->status != 204 && answer->status != 429)
        return fail(user_error("server", format("{} rejects this worker: {}", options_.server.origin(),
                                                answer->body.substr(0, 300))));
      doing("waiting for work");
      if (options_.idle > 0 && seconds_since(busy) > options_.idle) return;
    }
  }

  double poll_seconds() const {
    return options_.idle > 0 ? std::clamp(options_.idle, 0.1, longest_poll) : longest_poll;
  }

  void do_it(const Json& leased) {
    const std::string key = word(leased, "key");
    const Json lease = leased.value("lease", Json(0));
    std::mutex mutex;
    std::condition_variable changed;
    bool finished = false;
    const double every = std::clamp(leased.value("renew_every", 10.0), 0.1, 60.0);
    std::thread renewing([&] {
      std::unique_lock lock(mutex);
      while (!changed.wait_for(lock, std::chrono::duration<double>(every), [&] { return finished; })) {
        lock.unlock();
        (void)post("/fleet/renew", {{"lease", lease}, {"worker", options_.name}}, 10s);
        lock.lock();
      }
    });
    doing("working on " + key.substr(0, 16));
    const Json result = doer_(key, leased["payload"]);
    {
      std::lock_guard hold(mutex);
      finished = true;
    }
    changed.notify_all();
    renewing.join();
    hand_in({{"lease", lease}, {"key", key}, {"worker", options_.name}, {"result", result}});
  }

  // The work is done: a server that is away for a moment still gets it.
  void hand_in(const Json& done) {
    const auto begin = Clock::now();
    while (seconds_since(begin) < options_.patience) {
      auto answer = post("/fleet/done", done, 30s);
      if (answer && answer->status < 500 && answer->status != 429) {
        auto said = parse_json(answer->body);
        std::lock_guard hold(mutex_);
        ++counts_.done;
        if (said && said->is_object() && said->value("counted", false)) ++counts_.counted;
        return;
      }
      std::this_thread::sleep_for(500ms);
    }
  }

  void doing(std::string_view text) {
    std::lock_guard hold(mutex_);
    if (options_.on_doing) options_.on_doing(text);
  }

  const WorkerOptions& options_;
  const Doer& doer_;
  std::mutex mutex_;
  std::atomic<bool> ended_ = false;
  std::optional<Error> trouble_;
  WorkerCounts counts_;
};

}  // namespace

Result<WorkerCounts> work_for(const WorkerOptions& options, const Doer& doer) {
  return Workers(options, doer).run();
}

std::string worker_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"unknown"};
  return format("{}:{}", host.data(), ::getpid());
}

}  // namespace stitch::serve
