// A plan document from a file: --plan FILE of plan, code and optimize.
#pragma once

#include <string>

#include "plan/document/document.h"

namespace stitch {

// The document as it stands, not checked against a graph yet.
Result<Json> load_plan_file(const std::string& path);

// read_given_plan with errors that name the file.
Result<plan::GivenPlan> read_plan_file(const std::string& path, const Graph& graph, const GpuSpec& gpu,
                                       Numerics numerics);

}  // namespace stitch
