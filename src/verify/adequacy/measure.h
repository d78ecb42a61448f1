// What the Verifier's questions about a task tell apart, whatever program comes: a figure for its blindness.
#pragma once

#include "base/json.h"
#include "verify/session.h"

namespace stitch::verifier {

// Adequacy::evidence() after every question that correctness asks a native program, and how many those were.
// `work`: as Adequacy has it.
Result<Json> measure_adequacy(Session& session, double work);

}  // namespace stitch::verifier
