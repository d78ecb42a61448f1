// What a step is predicted to gain over a program that was measured.
#pragma once

#include <optional>

#include "agents/roles.h"

namespace stitch::agents {

// Regions that stay take what they took in the best program. For the others the cost model is asked, and
// corrected by how far it was off where the same technique was measured in that program, used the same way.
// Seconds a call; nothing where the best program's regions were not measured.
std::optional<double> predicted_gain(const plan::Context& context, const Program& best,
                                     const plan::Plan& next);

}  // namespace stitch::agents
