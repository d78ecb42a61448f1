// The plan as a document, for machines and for people.
#pragma once

#include <string>

#include "base/json.h"
#include "base/terminal.h"
#include "plan/context.h"
#include "plan/plan.h"

namespace stitch::plan {

Json to_json(const Context& context, const Plan& plan);
// The steps with what they are predicted to gain, then the regions with their estimates.
std::string text(const Context& context, const Plan& plan, const Terminal& terminal);

}  // namespace stitch::plan
