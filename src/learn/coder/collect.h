// Measures many problems on this machine's GPU: programs are built concurrently, timed one at a time, and
// recorded at once.
#pragma once

#include "learn/coder/measure.h"
#include "learn/coder/timings.h"

namespace stitch::learn {

struct CollectOptions {
  fs::path file;        // timings are added to it
  size_t choices = 24;  // of a problem, at most
  int jobs = 4;         // programs at a time
  double seconds = 0;   // after which no new one is started; 0: no limit
  uint64_t seed = 1;
  std::function<bool()> should_stop;
  std::function<void(const std::string& problem, int done, int all)> on_progress;
};
struct Collected {
  int problems = 0, known = 0, not_begun = 0;  // known: measured before
  int timed = 0, failed = 0;                   // choices
  int by_events = 0;                           // of the timed ones
  std::vector<std::string> troubles;           // problems that nothing came of, or not all, and why
};
// Ordered so that at any time limit every kind of region and every set of tasks has had its share; training
// tasks have two shares.
std::vector<RegionProblem> in_fair_order(std::vector<RegionProblem> problems);
// Those of which the cost model would choose another of these choices than the built-in Planner has chosen.
// Where the two agree, measuring says nothing about which of them chooses better.
std::vector<RegionProblem> disputed(std::vector<RegionProblem> problems, size_t choices, uint64_t seed);
Result<Collected> collect(const std::vector<RegionProblem>& problems, Timings& timings,
                          const CollectOptions& options);

}  // namespace stitch::learn
