// A plan that somebody wrote: --plan FILE of plan, code and optimize.
#pragma once

#include <string>

#include "plan/document.h"

namespace stitch {

// The document as it stands, not checked against a graph yet.
Result<Json> load_plan_file(const std::string& path);

struct GivenPlan {
  plan::Context context;
  plan::Plan plan;
};
// Errors name the file. `numerics`: as the user wrote it; the document's class counts, and another one is
// refused.
Result<GivenPlan> read_plan_file(const std::string& path, const Graph& graph, const GpuSpec& gpu,
                                 const std::string& numerics);
Result<GivenPlan> given_plan(const Json& document, const Graph& graph, const GpuSpec& gpu);

}  // namespace stitch
