// What the compact Coder sees: a region on a GPU, and one option of one decision about it, as numbers of the
// size of one. Names become buckets of their hashes, so a new technique or knob changes no network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/coder/choices.h"

namespace stitch::learn {

// Changes with what a feature means: weights know which they were trained with.
inline constexpr int feature_version = 1;
int feature_count();

// For the second skill: what was chosen before, and what the Verifier made of it.
struct Feedback {
  plan::Region previous;
  double seconds = 0;      // measured
  std::string bottleneck;  // of the profile: launch, host, memory, compute, latency, occupancy; or empty
};

class RegionFeatures {
 public:
  RegionFeatures(const plan::Context& context, const plan::Plan& plan, size_t region,
                 const Feedback* feedback = nullptr);

  // A row for each way. `estimates`: seconds a way, by the cost model.
  std::vector<float> of_ways(const std::vector<Way>& ways, const plan::Catalogue& catalogue) const;
  // A row for each value of the knob, after one that leaves it to the technique. `region`: as chosen so far.
  std::vector<float> of_values(const plan::Region& region, const plan::Knob& knob) const;

 private:
  std::vector<float> row(const std::vector<float>& option) const;

  const plan::Context& context_;
  const plan::Plan& plan_;
  const plan::Region& region_;
  std::optional<Feedback> feedback_;
  std::vector<float> shared_;  // the region's part of every row
};

}  // namespace stitch::learn
