// stitchcuda bench: many tasks optimised and summarised.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/commands/cluster.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

// What a reader needs to know of the figures, a sentence each: "notes" of summary.json.
std::vector<std::string> notes_on_bench(const Json& summary);
std::string bench_text(const Json& summary, const Terminal& terminal);

}  // namespace stitch
