// What tests share that judge candidates with a rehearsal of timing, on machines that have other work.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "verify/verify.h"

namespace stitch::verifier {

inline std::string in_words(const Verdict& verdict) {
  const GateReport* failure = verdict.failure();
  return failure ? failure->gate + ": " + failure->code : "passed";
}

inline bool was_too_busy(const Result<Verdict>& verdict) {
  return !verdict && verdict.error().code == "busy";
}

// Asked again a moment later where the machine was too busy to time it.
template <class Judge>
Result<Verdict> judged_in_peace(Judge&& judge) {
  for (int pause = 1; pause <= 2; ++pause) {
    Result<Verdict> verdict = judge();
    if (!was_too_busy(verdict)) return verdict;
    GTEST_LOG_(INFO) << "asked again: " << verdict.error().message;
    std::this_thread::sleep_for(std::chrono::seconds(pause));
  }
  return judge();
}

}  // namespace stitch::verifier
