// The compact Coder's choice for a region: an ensemble of small networks predicts the time of each choice,
// and replaces the built-in one only where they agree that another is faster.
#pragma once

#include <set>

#include "learn/coder/region_question.h"
#include "learn/coder/scorer.h"

namespace stitch::learn {

// A network's scores are logarithms of speed, times this; training (python/stitchcuda_torch/train_coder.py)
// has the same numbers.
inline constexpr double sharpness = 10;
// A gain under this is not worth a change: about the clock's spread.
inline constexpr double least_gain = 0.02;

struct Committee {
  std::vector<Scorer> members;
  // Spreads of the members' forecasts by which their mean has to be under the least gain.
  double caution = 1;
  // As way_text has them: those that many training regions had. Of others it knows nothing, whatever its
  // members say; empty: of all.
  std::set<std::string> known_ways = {};
};

struct Forecast {
  double mean = 0, spread = 0;  // of log(time / the built-in choice's)
};
// One for each choice of the question.
std::vector<Forecast> forecasts(std::span<const Scorer> members, RegionQuestion& question);

std::string way_text(const plan::Region& region);  // "conv.cudnn half channels_last"
// Its index among the question's choices; 0: the built-in one.
size_t decide(const Committee& committee, RegionQuestion& question);

}  // namespace stitch::learn
