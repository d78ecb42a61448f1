// A task over ranges of sizes: its graph at several of them.
#pragma once

#include "graph/instances.h"
#include "import/task.h"

namespace stitch {

// "batch=x:0,mask:0=1..64", and "/8" behind it where all sizes are multiples of 8.
Result<Dimensions> parse_dimensions(const std::vector<std::string>& declared, const Graph& graph);
// What the task itself declares (get_dynamic_shapes).
Dimensions dimensions_in(const TaskFacts& facts);

// {"batch": [[0, 0], [1, 0]]}
Json places_json(const Dimensions& dimensions);

// A .py file in `folder` that is the task at these sizes.
Result<fs::path> write_instance(const fs::path& task, const Dimensions& dimensions, const Sizes& sizes,
                                const fs::path& folder);

// Imports the task at sizes that tell formulas apart. task.graph becomes the graph of its own sizes within
// the same limits.
Result<Instances> import_instances(Exporter& exporter, Task& task, Dimensions dimensions,
                                   const OnProgress& on_progress);

}  // namespace stitch
