// Threads of this process that take submissions from the queue and judge them. With timing, one judges and
// others compile ahead of it; without, several judge at once.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "serve/fleet/queue.h"
#include "serve/reward/scorer.h"

namespace stitch::serve {

// What a submission's payload holds; the files are the task's, for workers without its folder.
struct ScoreWork {
  Submission submission;
  TaskFile task;
};
Json payload_of(const ScoreWork& work);
Result<ScoreWork> score_work_of(const Json& payload);

class LocalJudges {
 public:
  // `jobs`: judges, or compilers where something is timed.
  LocalJudges(WorkQueue& queue, Scorer& scorer, bool timed, int jobs);
  LocalJudges(const LocalJudges&) = delete;
  LocalJudges& operator=(const LocalJudges&) = delete;
  ~LocalJudges();  // what is being judged is finished first

 private:
  void build_ahead();
  void judge_built();
  void judge();
  void score(const Lease& lease);

  WorkQueue& queue_;
  Scorer& scorer_;
  const size_t most_built_;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Lease> built_;
  std::vector<std::thread> threads_;
};

// Scores submissions leased from a remote service, with its settings and the task files it sent.
class RemoteScorer {
 public:
  // Of the options, how to judge comes with the work.
  explicit RemoteScorer(ScorerOptions options);
  Json score(const std::string& key, const Json& payload);

 private:
  Result<Json> scored(const Json& payload);
  Result<fs::path> task_folder(const Json& payload, const std::string& hash);
  Result<Scorer*> scorer_for(const Json& judging);

  const ScorerOptions options_;
  std::optional<ScratchFolder> scratch_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Scorer>> scorers_;  // by how they judge
};

}  // namespace stitch::serve
