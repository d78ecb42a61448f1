// A submission becomes an answer: verdict, rubric, reward. Tasks stay open between candidates.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "base/error_codes.h"
#include "gpu/gpu_spec.h"
#include "import/task.h"
#include "rubric/reward.h"
#include "serve/reward/forms.h"
#include "serve/reward/tasks.h"
#include "verify/verdict.h"
#include "verify/verify.h"

namespace stitch::serve {

// Candidates that are judged at the same time on one GPU. A kernel that never ends holds up all of them until
// it is killed: a candidate that timed out beside others is run once more, alone.

class SideBySide {
 public:
  using Judge = std::function<Result<verifier::Verdict>()>;
  Result<verifier::Verdict> judge(const Judge& judge) {
    bool among_others = false;
    auto verdict = [&] {
      std::shared_lock with_others(candidates_);
      const Visit visit(*this, among_others);
      return judge();
    }();
    if (!verdict || !among_others) return verdict;
    const verifier::GateReport* failure = verdict->failure();
    if (!failure || failure->code != error_code::hung) return verdict;
    std::unique_lock alone(candidates_);
    return judge();
  }

 private:
  // Whether another candidate ran at the same time.
  class Visit {
   public:
    Visit(SideBySide& all, bool& among_others) : all_(all), among_others_(among_others) {
      std::lock_guard hold(all_.mutex_);
      begun_ = ++all_.begun_;
      among_others_ = all_.present_++ > 0;
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit() {
      std::lock_guard hold(all_.mutex_);
      --all_.present_;
      among_others_ = among_others_ || all_.begun_ != begun_;
    }

   private:
    SideBySide& all_;
    bool& among_others_;
    uint64_t begun_ = 0;
  };

  std::shared_mutex candidates_;  // shared for judging, exclusive for one alone
  std::mutex mutex_;
  uint64_t begun_ = 0;
  int present_ = 0;
};

// How all workers of a service judge; sent to them as JSON.
struct Judging : verifier::VerifyOptions {
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
  // A source without the ABI's entry points may be what `optimize` asks a Coder for, the whole pass as one
  // region: the program with it.
  Code completed(const OpenTask& open, Code code) const;
  Json not_judged(const TaskFile& task, const Error& error) const;
  Result<Json> scored(OpenTask& open, const TaskFile& task, const Submission& sent);
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
