// Outputs get the names that the model's result has for them: the keys of a dict, the fields of a dataclass.
#pragma once

#include "base/json.h"
#include "graph/graph.h"

namespace stitch {

// `outputs`: the tree of forward's result, as task.json has it (README). Outputs without a key keep their
// names, and so do inputs and weights that are handed on.
void name_results(Graph& graph, const Json& outputs);

}  // namespace stitch
