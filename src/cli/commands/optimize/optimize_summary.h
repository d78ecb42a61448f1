// What a run of optimize came to: faster or slower than what, why, and what to do next.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal/terminal.h"

namespace stitch {

// Seconds a call; 0: not known. `run`: what optimize --json prints.
struct Standing {
  double own = 0, best = 0;
  std::string best_name;                    // of PyTorch's baselines
  std::map<std::string, double> baselines;  // those with a time
  bool measured = false;                    // else all of these are the cost model's estimates

  double over_pytorch() const { return own > 0 && best > 0 ? best / own : 0; }
  // Than the best PyTorch; false where its time is not known.
  bool slower() const { return best > 0 && own > 0 && own >= best; }
};
Standing standing_of(const Json& run);

// "308 us per call: 1.21x as fast as the best PyTorch (compile-graph, 370 us)."
std::string headline(const Json& run);

// Adds what a reader wants to know first: "headline", "pytorch" (seconds by baseline, the best of them),
// "slower_because" where that is so, "bottleneck", and each region's "measured_seconds".
void add_summary(Json& run);

// What the profile gate says limits the call, as a sentence; empty: nothing was measured.
std::string bottleneck_of(const Json& verdict);

struct SummaryPlaces {
  std::string model, program, report;
};
// "What to do next", the most useful first.
std::vector<std::string> next_steps(const Json& run, const SummaryPlaces& places);
// The end of optimize's output.
std::string summary_text(const Json& run, const SummaryPlaces& places, const Terminal& terminal);

}  // namespace stitch
