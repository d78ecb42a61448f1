// Plan in, program out: the regions by their families, and the scaffold that stitches them.
#pragma once

#include "graph/graph.h"
#include "plan/plan.h"
#include "program/package.h"

namespace stitch::code {

// Sources and manifest; the caller adds task and constants. The plan was checked.
Result<PackageContents> write_program(const Graph& graph, const plan::Plan& plan);

// For which architecture it was planned, "sm_90a": what its package builds for unless told.
void set_architecture(PackageContents& contents, const std::string& name);

// The same program shipping with other values of its settings, by their names: one source changes.
void set_values(PackageContents& contents, const std::map<std::string, int64_t>& values);

}  // namespace stitch::code
