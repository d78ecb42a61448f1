// stitchcuda runs diff: two runs beside each other, and how their programs differ.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "base/terminal/line_diff.h"
#include "cli/console.h"
#include "store/run_store.h"

namespace stitch {

Result<int> diff_runs(const store::RunStore& store, const store::Run& a, const store::Run& b,
                      Console& console);

using Sources = std::map<std::string, std::string>;  // texts by path
// Files that differ, each with its lines.
std::map<std::string, std::vector<DiffLine>> diff_sources(const Sources& before, const Sources& after);
// [{"path": …, "lines": ["+added", "-removed", " same", "@7 lines left out"]}]
Json diff_json(const Sources& before, const Sources& after);

}  // namespace stitch
