// Candidates that are judged at the same time on one GPU. A kernel that never ends holds up all of them until
// it is killed: a candidate that timed out beside others is run once more, alone.
#pragma once

#include <functional>
#include <mutex>
#include <shared_mutex>

#include "base/error_codes.h"
#include "verify/verdict.h"

namespace stitch::serve {

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

}  // namespace stitch::serve
