// The plan as a document, for machines and for people.
#pragma once

#include <string>

#include "base/json.h"
#include "base/terminal.h"
#include "device/gpu_spec.h"
#include "plan/plan.h"

namespace stitch::plan {

Json to_json(const Graph& graph, const Plan& plan, const GpuSpec& gpu);
// The steps with what they are predicted to gain, then the regions with their estimates.
std::string text(const Graph& graph, const Plan& plan, const GpuSpec& gpu, const Terminal& terminal);

}  // namespace stitch::plan
