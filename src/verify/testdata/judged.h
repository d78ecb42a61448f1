// What tests share that judge candidates and time them, on machines that have other work.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "verify/verify.h"

namespace stitch::verifier {

inline std::string in_words(const Verdict& verdict) {
  const GateReport* failure = verdict.failure();
  return failure ? failure->gate + ": " + failure->code : "passed";
}

// The clock of a GPU's machine is the wall's: others may keep its cores busy. The emulated GPU's counts CPU
// time, and judges whatever else the machine does.
inline bool was_too_busy(const Result<Verdict>& verdict) {
  const char* device = std::getenv("STITCHCUDA_TEST_DEVICE");
  return device && std::string_view(device) == "cuda" && !verdict && verdict.error().code == "busy";
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
