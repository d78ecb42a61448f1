// The compact Coder's features: a region on a GPU and one choice compared with the built-in one, as numbers
// of order one. Names are hashed into buckets, so a new technique or knob changes no network.
#pragma once

#include <vector>

#include "learn/coder/choices.h"
#include "plan/cost/estimate.h"

namespace stitch::learn {

// Incremented when a feature changes: weights store the version they were trained with.
inline constexpr int feature_version = 2;
int feature_count();

class RegionFeatures {
 public:
  RegionFeatures(const plan::Context& context, const plan::Plan& plan, size_t region);

  // `chosen`: the region with a technique, an offer and knobs.
  std::vector<float> of_choice(const plan::Region& chosen) const;

 private:
  const plan::Context& context_;
  const plan::Plan& plan_;
  const plan::Region& region_;
  plan::RegionEstimate estimate_;  // of the built-in choice
  std::vector<float> shared_;      // the region's part of every row
};

}  // namespace stitch::learn
