// scatter and index_put of any size, as loops over their results; and sort and topk. Where there are more
// than a few sources, they are grouped first: kernels/loops_scatter.h lists, for every row of the result, the
// sources that name it, in their order, and each element goes through the list of its row alone.
#pragma once

#include <optional>

#include "code/loops/emitter.h"
#include "code/region_code.h"

namespace stitch::code::loops {

struct SourceLists {
  int64_t sources = 0;  // entries of the index
  int64_t rows = 0;     // that they may name
  bool by_row = true;   // or each element of the result has a list of its own
};
// Nothing: so few that looking at all of them is as fast.
std::optional<SourceLists> source_lists(const Graph& graph, const Node& node);
// The row that a source names.
Expression target_of_source(Emitter& emitter, const Node& node, const Index& source);

Result<void> accepts_scatter(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_scatter(const RegionRequest& request);
Result<void> accepts_sort(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_sort(const RegionRequest& request);

}  // namespace stitch::code::loops
