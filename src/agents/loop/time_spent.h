// Where a run's time went, for its JSON document and its report.
#pragma once

#include <string>

#include "base/json.h"
#include "base/machine/time_account.h"

namespace stitch::agents {

// {"phases": {"import": 5.1, …, "other": 0.2}, "waiting": {"to have the GPU alone": 2.0},
//  "details": {"compile a unit": {"seconds": 31.5, "times": 8}}}: phases add up to `total`, waiting lies
//  within
// them or in threads beside them, details are what they were made of.
Json time_spent(const TimeAccount::Entries& entries, double total);
// "import 5.1 s, gate: build 9.8 s, …; 2.0 s of it waiting for others": the longest few. Empty: nothing is
// known.
std::string time_text(const Json& spent);

}  // namespace stitch::agents
