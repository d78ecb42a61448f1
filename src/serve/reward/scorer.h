// A submission becomes an answer: verdict, rubric, reward. Tasks stay open between candidates.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "gpu/gpu_spec.h"
#include "import/task.h"
#include "rubric/reward.h"
#include "serve/reward/side_by_side.h"
#include "serve/reward/submission.h"
#include "serve/reward/tasks.h"
#include "verify/verify.h"

namespace stitch::serve {

// How all workers of a service judge; sent to them as JSON.
struct Judging {
  Numerics numerics = Numerics::standard;
  runner::Device device = runner::Device::emulated;
  std::vector<std::string> baselines;
  bool quick = false, timing = true, kernelbench_compatible = false;
  bool shared_processes = false;  // candidates run one after another in the same processes: for quick checks
  int time_limit = 60;            // seconds for one call of a candidate
  rubric::RewardKind reward = rubric::RewardKind::combined;
  Mode mode = Mode::as_written;
  std::string version;  // of stitchcuda

  bool timed() const { return timing && device == runner::Device::cuda; }
};
Json to_json(const Judging& judging);
Result<Judging> judging_from_json(const Json& json);

struct ScorerOptions {
  Judging judging;
  GpuSpec gpu;         // that operators' times are estimated for
  std::string python;  // empty: the usual one
  std::string machine;
  size_t most_open = 8;  // open tasks with a reference
};

// A task's file, and what tells it from a later version of itself.
struct TaskFile {
  fs::path file;
  std::string name, hash;
};

class Scorer {
 public:
  virtual ~Scorer() = default;
  // Thread-safe. Never throws; failures of the machine give the answer "not judged".
  virtual Json score(const TaskFile& task, const Submission& submission) = 0;
  // Compiles ahead of score(), which finds the library in the cache. Never compiles during timing.
  virtual void build(const Submission& submission) = 0;
};

// By the Verifier's gates and the built-in judge of the rubric.
class VerifyingScorer final : public Scorer {
 public:
  explicit VerifyingScorer(ScorerOptions options);
  Json score(const TaskFile& task, const Submission& submission) override;
  void build(const Submission& submission) override;

 private:
  struct Judged {
    std::shared_ptr<const Json>
        verdict;  // as verify --json prints it, its reason as the author may know it; null: none
    std::string feedback;
    std::optional<Error> trouble;  // why
  };
  Judged judge(OpenTask& open, const Code& code);
  // Of the program before a change: usually judged a moment ago.
  Result<rubric::Execution> run_before(OpenTask& open, const Code& code);
  void remember(const OpenTask& open, const Code& code, const rubric::Execution& run);
  Json not_judged(const TaskFile& task, const Error& error) const;
  Result<Json> scored(OpenTask& open, const TaskFile& task, const Submission& submission);
  verifier::VerifyOptions verify_options() const;
  Result<fs::path> written(const Code& code);

  const ScorerOptions options_;
  std::optional<ScratchFolder> scratch_;
  mutable std::mutex mutex_;
  OpenTasks open_;
  SideBySide side_by_side_;                                          // on a GPU
  std::list<std::pair<std::string, rubric::Execution>> remembered_;  // for the next turn, the latest first
  std::shared_mutex clock_;                                          // builds share it, a clock has it alone
};

// The text for another try: what failed and where, or what limits it.
std::string feedback_of(const verifier::Verdict& verdict);

}  // namespace stitch::serve
