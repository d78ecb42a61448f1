// The numbers of a verdict that decisions are made by: the one reader of what the gates `timing` and
// `profile` write.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profile/rules.h"
#include "verify/verdict.h"

namespace stitch::verifier {

struct Timing {
  double seconds = 0;                                     // of a call
  std::vector<std::pair<std::string, double>> baselines;  // those that were timed, and their seconds
  std::optional<double> speedup;                          // over the best of them
  std::string best_baseline;
};
// Nothing where nothing was timed.
std::optional<Timing> timing_of(const Verdict& verdict);

// Error over budget of the output that is furthest off; nothing if the program didn't fail by finite errors.
std::optional<double> times_over_budget(const Verdict& verdict);

struct Profile {
  std::optional<profile::Diagnosis> diagnosis;   // of the whole program
  std::map<std::string, double> region_seconds;  // on the device
  double launches = 0;
  double program_bytes = 0, pytorch_bytes = 0;  // 0: not known
};
// Empty where nothing was profiled.
Profile profile_of(const Verdict& verdict);

}  // namespace stitch::verifier
