// What was measured of a program, and the predicted gain of a step over it.
#pragma once

#include <functional>
#include <optional>

#include "agents/roles.h"

namespace stitch::agents {

// Predicts what a region of another plan for the same graph takes; null: nothing was measured. `context` and
// `best` must outlive it.
using RegionPredictor = std::function<double(const plan::Plan& plan, const plan::Region& region)>;
RegionPredictor region_predictor(const plan::Context& context, const Program& best);

// Unchanged regions keep their measured time. The others get the cost model's estimate, corrected by its
// error for the same technique and offer in the measured program. Seconds per call; nothing if the best
// program's regions were not measured.
std::optional<double> predicted_gain(const plan::Context& context, const Program& best,
                                     const plan::Plan& next);

}  // namespace stitch::agents
