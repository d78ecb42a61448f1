#include "serve/reward/remote_scorer.h"

#include <nlohmann/json.hpp>

#include "base/contained.h"
#include "serve/reward/local_judges.h"
#include "verify/not_judged.h"

namespace stitch::serve {

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
