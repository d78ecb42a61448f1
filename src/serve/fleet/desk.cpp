#include "serve/fleet/desk.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/machine/time_account.h"

namespace stitch::serve {

namespace {

constexpr double longest_wait_for_work = 60;  // seconds, of a worker for work
constexpr size_t longest_name = 200;
constexpr auto remembered_for = std::chrono::seconds(60);

uint64_t lease_in(const Json& asked) {
  auto found = asked.find("lease");
  return found != asked.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

}  // namespace

http::Response json_response(const Json& json, int status) {
  return {.status = status, .body = line_text(json) + '\n'};
}

http::Response error_response(const Error& error, int status) {
  return json_response(to_json(error), status);
}

bool WorkDesk::handle(const http::Request& request, const http::Reply& reply) {
  if (!request.path.starts_with("/fleet/")) return false;
  auto refuse = [&](int status, std::string why) {
    reply.send(error_response(user_error("request", std::move(why)), status));
    return true;
  };
  if (request.method != "POST") return refuse(405, "use POST");
  auto asked = parse_json(request.body);
  if (!asked || !asked->is_object()) return refuse(400, "the body must be a JSON object");
  if (const std::string worker = word(*asked, "worker"); !worker.empty()) {
    std::lock_guard hold(mutex_);
    seen_[worker.substr(0, longest_name)] = WorkQueue::Clock::now();
    std::erase_if(
        seen_, [](const auto& each) { return WorkQueue::Clock::now() - each.second > 10 * remembered_for; });
  }
  if (request.path == "/fleet/lease") {
    if (word(*asked, "worker").empty()) return refuse(400, "the worker's name is missing");
    if (word(*asked, "device") != options_.device)
      return refuse(400, format("this server needs workers with the device {}", options_.device));
    lease(*asked, reply);
    return true;
  }
  if (request.path == "/fleet/renew") {
    if (!queue_.renew(lease_in(*asked))) return refuse(410, "this lease has expired");
    reply.send(json_response(Json::object()));
    return true;
  }
  if (request.path != "/fleet/done") return refuse(404, "no such path");
  if (word(*asked, "key").empty() || !asked->contains("result"))
    return refuse(400, "key and result are missing");
  if (request.body.size() > options_.largest_result) return refuse(413, "the result is too large");
  if (options_.is_result && !options_.is_result((*asked)["result"])) return refuse(400, "not a result");
  done(*asked, reply);
  return true;
}

void WorkDesk::lease(const Json& asked, const http::Reply& reply) {
  const Json wait = asked.value("wait", Json(0));
  const double seconds = wait.is_number() ? std::clamp(wait.get<double>(), 0.0, longest_wait_for_work) : 0;
  queue_.take_later(word(asked, "worker").substr(0, longest_name),
                    std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds)),
                    [this, reply](std::optional<Lease> lease) {
                      if (!lease) {
                        reply.send({.status = 204});
                        return;
                      }
                      SharedJson payload = options_.dress ? options_.dress(lease->work) : lease->work.payload;
                      if (!payload) {  // it can't be done
                        queue_.give_up(lease->id);
                        reply.send({.status = 204});
                        return;
                      }
                      reply.send(json_response({{"lease", lease->id},
                                                {"key", lease->work.key},
                                                {"waited", lease->waited},
                                                {"renew_every", options_.renew_every},
                                                {"payload", *payload}}));
                    });
}

void WorkDesk::done(const Json& asked, const http::Reply& reply) {
  auto result = std::make_shared<const Json>(asked["result"]);
  const bool counted = queue_.hand_in(lease_in(asked), word(asked, "key"), std::move(result));
  reply.send(json_response({{"counted", counted}}));
}

std::map<std::string, double> WorkDesk::workers() const {
  std::lock_guard hold(mutex_);
  std::map<std::string, double> out;
  const auto now = WorkQueue::Clock::now();
  for (const auto& [worker, when] : seen_)
    if (now - when < remembered_for) out[worker] = std::chrono::duration<double>(now - when).count();
  return out;
}

namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j)
      three = three << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) out += i + j <= bytes.size() ? digits[three >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

std::string from_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const size_t value = digits.find(c);
    if (value == std::string_view::npos) break;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

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
