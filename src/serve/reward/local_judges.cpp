#include "serve/reward/local_judges.h"

#include <nlohmann/json.hpp>

#include "base/contained.h"
#include "verify/not_judged.h"

namespace stitch::serve {

namespace {

constexpr auto look_every = std::chrono::milliseconds(200);

}  // namespace

Json payload_of(const ScoreWork& work) {
  return {{"kind", "score"},
          {"submission", to_json(work.submission)},
          {"task", {{"name", work.task.name}, {"file", work.task.file.string()}, {"hash", work.task.hash}}}};
}

Result<ScoreWork> score_work_of(const Json& payload) {
  ScoreWork out;
  try {
    const Json& submission = payload.at("submission");
    auto code = [](const Json& json) {
      return Code{json.at("language") == "python" ? llm::Language::python : llm::Language::cuda,
                  json.at("code").get<std::string>(), word(json, "missing")};
    };
    out.submission.task = submission.at("task").get<std::string>();
    out.submission.code = code(submission.at("code"));
    if (submission.contains("before")) {
      out.submission.before = code(submission["before"]);
      out.submission.feedback = word(submission, "feedback");
    }
    const Json& task = payload.at("task");
    out.task = {task.at("file").get<std::string>(), task.at("name").get<std::string>(),
                task.at("hash").get<std::string>()};
  } catch (const Json::exception& wrong) {
    return work_error("work", format("not a submission: {}", wrong.what()));
  }
  return out;
}

LocalJudges::LocalJudges(WorkQueue& queue, Scorer& scorer, bool timed, int jobs)
    : queue_(queue), scorer_(scorer), most_built_(2 * static_cast<size_t>(jobs)) {
  for (int i = 0; i < jobs; ++i) threads_.emplace_back([this, timed] { timed ? build_ahead() : judge(); });
  if (timed) threads_.emplace_back([this] { judge_built(); });
}

LocalJudges::~LocalJudges() {
  {
    std::lock_guard hold(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (const Lease& lease : built_) queue_.give_back(lease.id);
}

void LocalJudges::judge() {
  while (!ending_)
    if (auto lease = queue_.take(look_every)) score(*lease);
}

void LocalJudges::build_ahead() {
  while (!ending_) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, look_every, [&] { return ending_ || built_.size() < most_built_; });
      if (ending_ || built_.size() >= most_built_) continue;
    }
    auto lease = queue_.take(look_every);
    if (!lease) continue;
    if (auto work = score_work_of(*lease->work.payload)) scorer_.build(work->submission);
    {
      std::lock_guard hold(mutex_);
      built_.push_back(*std::move(lease));
    }
    changed_.notify_all();
  }
}

void LocalJudges::judge_built() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, look_every, [&] { return ending_ || !built_.empty(); });
    if (ending_) return;
    if (built_.empty()) continue;
    const Lease lease = std::move(built_.front());
    built_.pop_front();
    lock.unlock();
    changed_.notify_all();
    score(lease);
  }
}

void LocalJudges::score(const Lease& lease) {
  auto work = score_work_of(*lease.work.payload);
  if (!work) {
    queue_.give_up(lease.id);
    return;
  }
  Json answer = scorer_.score(work->task, work->submission);
  answer["key"] = lease.work.key;
  answer["seconds"]["queued"] = lease.waited;
  queue_.hand_in(lease.id, lease.work.key, std::make_shared<const Json>(std::move(answer)));
}

namespace {

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

RemoteScorer::RemoteScorer(ScorerOptions options) : options_(std::move(options)) {
  if (auto made = ScratchFolder::create("stitchcuda-worker")) scratch_.emplace(*std::move(made));
}

Json RemoteScorer::score(const std::string& key, const Json& payload) {
  auto answer = contained([&] { return scored(payload); });
  Json out;
  if (answer) {
    out = *std::move(answer);
  } else {
    out = {
        {"reward", 0.0}, {"counted", false}, {"label", verifier::not_judged}, {"components", Json::object()}};
    out["verdict"] = {
        {"verdict", verifier::not_judged}, {"code", answer.error().code}, {"reason", answer.error().message}};
    out["machine"] = options_.machine;
  }
  out["key"] = key;
  return out;
}

Result<Json> RemoteScorer::scored(const Json& payload) {
  STITCH_TRY(ScoreWork work, score_work_of(payload));
  STITCH_TRY(Scorer * scorer, scorer_for(payload.value("judging", Json::object())));
  STITCH_TRY(fs::path folder, task_folder(payload, work.task.hash));
  if (!is_plain_name(work.task.file.string()))
    return work_error("work", "the task's file name must be without folders");
  work.task.file = folder / work.task.file;
  return scorer->score(work.task, work.submission);
}

Result<Scorer*> RemoteScorer::scorer_for(const Json& judging) {
  std::lock_guard hold(mutex_);
  std::unique_ptr<Scorer>& out = scorers_[line_text(judging)];
  if (!out) {
    ScorerOptions options = options_;
    STITCH_TRY(options.judging, judging_from_json(judging));
    if (options.judging.version != options_.judging.version)
      return work_error("version",
                        format("the service has version {}, this worker {}", options.judging.version,
                               options_.judging.version),
                        "install the same version on all machines");
    if (options.judging.device != options_.judging.device)
      return work_error("device", "the service judges on a different device");
    out = std::make_unique<VerifyingScorer>(std::move(options));
  }
  return out.get();
}

// Each version of a task once.
Result<fs::path> RemoteScorer::task_folder(const Json& payload, const std::string& hash) {
  if (!scratch_) return work_error("file", "no temporary folder can be created");
  if (!is_plain_name(hash)) return work_error("work", "the task has no hash");
  const fs::path folder = scratch_->path() / hash;
  std::lock_guard hold(mutex_);
  std::error_code ec;
  if (fs::exists(folder / ".whole", ec)) return folder;
  fs::create_directories(folder, ec);
  const Json files = payload.value("files", Json::object());
  for (const auto& [name, text] : files.items()) {
    if (!is_plain_name(name) || !text.is_string())
      return work_error("work", "a task's file name must be without folders");
    STITCH_CHECK(write_file(folder / name, text.get<std::string>()));
  }
  STITCH_CHECK(write_file(folder / ".whole", ""));
  return folder;
}

}  // namespace stitch::serve
