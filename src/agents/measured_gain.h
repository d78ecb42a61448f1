// The predicted gain of a step over a measured program.
#pragma once

#include <optional>

#include "agents/roles.h"

namespace stitch::agents {

// Unchanged regions keep their measured time. The others get the cost model's estimate, corrected by its
// error for the same technique and offer in the measured program. Seconds per call; nothing if the best
// program's regions were not measured.
std::optional<double> predicted_gain(const plan::Context& context, const Program& best,
                                     const plan::Plan& next);

}  // namespace stitch::agents
