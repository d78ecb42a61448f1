#include "serve/fleet/fan_out.h"

#include <unistd.h>
#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "base/contained.h"
#include "base/error_codes.h"
#include "base/text.h"
#include "http/client.h"
#include "serve/reward/forms.h"
#include "serve/reward/tasks.h"

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

namespace {

// Below a folder, without a way out of it.
bool is_inside(const std::string& name) {
  const fs::path path(name);
  if (name.empty() || path.is_absolute() || name.find('\0') != std::string::npos) return false;
  for (const fs::path& part : path)
    if (part == ".." || part == ".") return false;
  return true;
}

// Without what was built of it.
Json files_below(const fs::path& folder) {
  Json out = Json::object();
  size_t bytes = 0;
  std::error_code ec;
  for (auto it = fs::recursive_directory_iterator(folder, ec); !ec && it != fs::end(it); it.increment(ec)) {
    if (it->is_directory(ec) && it->path().filename() == "build") it.disable_recursion_pending();
    if (!it->is_regular_file(ec)) continue;
    bytes += it->file_size(ec);
    if (bytes > largest_program) return nullptr;
    if (auto text = read_file(it->path()))
      out[it->path().lexically_relative(folder).generic_string()] = to_base64(*text);
  }
  return out;
}

Json ended(const Error& error) {
  return {{"output", line_text(to_json(error))}, {"exit_code", 1}, {"files", Json::object()}};
}

Result<Json> optimized(const Json& payload, const std::string& python) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-bench"));
  const fs::path tasks = scratch.path() / "tasks", program = scratch.path() / "program";
  std::error_code ec;
  fs::create_directories(tasks, ec);
  for (const auto& [name, text] : payload.at("files").items()) {
    if (!is_inside(name)) return work_error("work", "a task's file name must be without folders");
    STITCH_CHECK(write_file(tasks / name, text.get<std::string>()));
  }
  auto flags = payload.at("flags").get<std::vector<std::string>>();
  if (!python.empty()) flags.insert(flags.end(), {"--python", python});
  const std::string task = payload.at("task").get<std::string>();
  if (!is_inside(task)) return work_error("work", "the task's file name must be without folders");
  const Command command =
      agents::optimize_command(tasks / task, program, flags, payload.at("seconds").get<int>(), 1);
  STITCH_TRY(Child child, Child::start(command));
  child.close_input();
  std::string output;
  while (auto line = child.read_line()) output += *line + '\n';
  const Finished finished = child.wait();
  Json files = files_below(program);
  Json out = {{"output", std::move(output)},
              {"exit_code", finished.exit_code},
              {"timed_out", finished.timed_out},
              {"error_tail", finished.error_tail}};
  if (files.is_null()) out["left_there"] = true;  // too large to be sent
  out["files"] = files.is_null() ? Json::object() : std::move(files);
  return out;
}

}  // namespace

Result<Json> optimize_payload(const agents::BenchTask& task, const agents::BenchOptions& options) {
  STITCH_TRY(auto files, files_of_task(task.path));
  return Json{{"kind", "optimize"},
              {"task", task.path.filename().string()},
              {"files", files},
              {"flags", agents::flags_of(task, options)},
              {"seconds", options.seconds_a_task}};
}

Json optimize_leased(const Json& payload, const std::string& python) {
  auto done = contained([&] { return optimized(payload, python); });
  Json out = done ? *std::move(done) : ended(done.error());
  out["machine"] = worker_name();
  return out;
}

bool is_optimize_result(const Json& result) {
  return result.is_object() && result.contains("output") && result["output"].is_string() &&
         result.contains("files") && result["files"].is_object() && !word(result, "machine").empty();
}

Json optimize_record(const agents::BenchTask& task, const Json& result, const agents::BenchOptions& options) {
  const fs::path program = options.out / "programs" / task.name;
  std::error_code ec;
  fs::create_directories(program, ec);
  for (const auto& [name, text] : result["files"].items()) {
    if (!is_inside(name) || !text.is_string()) continue;
    fs::create_directories((program / name).parent_path(), ec);
    (void)write_file(program / name, from_base64(text.get<std::string>()));
  }
  const std::string output = word(result, "output");
  (void)write_file(program.string() + ".json", output);
  Json record = agents::record_of(
      task,
      {output, result.value("exit_code", -1), result.value("timed_out", false), word(result, "error_tail")},
      options.seconds_a_task);
  record["machine"] = word(result, "machine");
  if (result.value("left_there", false)) record["program"] = "left on " + word(result, "machine");
  return record;
}

}  // namespace stitch::serve
