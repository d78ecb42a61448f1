// What was measured of a program, and the predicted gain of a step over it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agents/roles.h"
#include "base/json.h"
#include "base/machine/time_account.h"

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

// Where a run's time went, for its JSON document and its report: phases add up to `total`; waiting lies
// within them or in threads beside them; details are what they were made of.
//   {"phases": {"import": 5.1, …, "other": 0.2}, "waiting": {"to have the GPU alone": 2.0},
//    "details": {"compile a unit": {"seconds": 31.5, "times": 8}}}
Json time_spent(const TimeAccount::Entries& entries, double total);
// "import 5.1 s, gate: build 9.8 s, …; 2.0 s of it waiting for others": the longest few. Empty: nothing is
// known.
std::string time_text(const Json& spent);

}  // namespace stitch::agents
