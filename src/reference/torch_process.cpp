#include "reference/torch_process.h"

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error_codes.h"
#include "base/file.h"
#include "base/json.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "gpu/gpu_lock.h"
#include "import/python.h"

namespace stitch::verifier {

Result<TorchProcess> TorchProcess::start(const std::string& python) {
  STITCH_TRY(fs::path program, find_python(python));
  STITCH_TRY(Command command, python_command(program, "stitchcuda_torch.reference"));
  STITCH_TRY(Child child, Child::start(command));
  return TorchProcess(std::move(child), std::move(program));
}

Result<std::shared_ptr<const Task>> TorchProcess::open_task(const fs::path& source,
                                                            const TaskOptions& options,
                                                            const OnProgress& on_progress) {
  Exporter exporter = Exporter::over(*std::exchange(child_, std::nullopt), python_);
  auto task = stitch::open_task(exporter, source, options, on_progress);
  child_.emplace(std::move(exporter).into_process());
  return task;
}

namespace {

// Long, and most of it without the GPU: these wait for a turn themselves, when they need one.
bool takes_turns(const Json& request) {
  const std::string doing = word(request, "do");
  return doing == "load" || doing == "weights" || doing == "arithmetic" || doing == "roundings" ||
         doing == "baseline";
}

// Seconds of the host's, and next to nothing on the GPU.
bool is_the_hosts(const Json& request) { return word(request, "do") == "warm_profiler"; }

// "reference: baseline compile-graph": what the answer took, without what it waited.
class AskedReference {
 public:
  explicit AskedReference(const Json& request) : name_("reference: " + word(request, "do")) {
    if (request.contains("kind")) name_ += " " + word(request, "kind");
  }
  AskedReference(const AskedReference&) = delete;
  AskedReference& operator=(const AskedReference&) = delete;
  void answered(const Json& answer) {
    waited_ = answer.value("waited", 0.0);
    if (waited_ > 0) TimeAccount::add(TimeAccount::Kind::waiting, "to use the GPU", waited_);
  }
  ~AskedReference() {
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin_;
    TimeAccount::add(TimeAccount::Kind::detail, name_, gone.count() - waited_);
  }

 private:
  std::string name_;
  double waited_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Ends a child that takes too long. Its own thread, since the other one reads.
class Deadline {
 public:
  Deadline(const Child& child, std::chrono::milliseconds limit) {
    if (limit.count() > 0)
      watcher_ = std::thread([this, &child, limit] {
        std::unique_lock lock(mutex_);
        if (ended_.wait_for(lock, limit, [this] { return over_; })) return;
        passed_ = true;
        child.stop();
      });
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline() { end(); }
  bool has_passed() {
    end();
    return passed_;
  }

 private:
  void end() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    ended_.notify_one();
    if (watcher_.joinable()) watcher_.join();
  }
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false, passed_ = false;
  std::thread watcher_;
};

}  // namespace

Result<Json> TorchProcess::ask(Json request, const std::function<void(std::string_view)>& on_progress) {
  if (word(request, "device") == "cuda") on_gpu_ = true;
  std::optional<Result<GpuLock>> beside_others;
  if (on_gpu_ && is_the_hosts(request)) GpuVisit::step_out();
  if (on_gpu_ && !takes_turns(request) && !is_the_hosts(request)) beside_others.emplace(GpuLock::share());
  if (on_gpu_ && takes_turns(request) && !GpuLock::is_held()) {
    GpuVisit::step_out();
    request["turns"] = cache_folder().string();
  }
  AskedReference asked(request);
  Deadline deadline(*child_, time_limit_);
  bool sent = static_cast<bool>(child_->send(request.dump(-1, ' ', true, Json::error_handler_t::replace)));
  while (sent) {
    auto line = child_->read_line();
    if (!line) break;
    auto answer = parse_json(*line);
    if (!answer || !answer->is_object()) continue;
    if (answer->contains("ok")) {
      asked.answered(*answer);
      return answer;
    }
    if (answer->contains("error")) {
      const Json& error = (*answer)["error"];
      Error out = work_error(word(error, "kind"), word(error, "message"), word(error, "fix"));
      out.where = word(error, "where");
      return out;
    }
    if (on_progress && answer->contains("progress")) on_progress(word(*answer, "progress"));
  }
  if (deadline.has_passed())
    return work_error(
        "reference_hung",
        format("PyTorch took longer than {} s for an answer ('{}')",
               std::chrono::duration_cast<std::chrono::seconds>(time_limit_).count(), word(request, "do")),
        "allow more with --reference-time-limit, or use smaller sizes in the task");
  Finished finished = child_->wait();
  if (finished.exit_code == 128 + SIGKILL)
    return work_error(error_code::memory, "the PyTorch reference was killed, probably out of memory",
                      "use a machine with more memory, or smaller sizes in the task");
  std::vector<std::string> lines = split(trim(finished.error_tail), '\n');
  return work_error("reference",
                    format("the PyTorch reference ({}) ended with exit code {}: {}", python_.string(),
                           finished.exit_code, lines.back()),
                    "check it with: stitchcuda doctor");
}

}  // namespace stitch::verifier
