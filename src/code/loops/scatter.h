// scatter and index_put of any size, as loops over their results; and sort and topk. With more than a few
// sources these are grouped first: kernels/loops_scatter.h lists the sources of every result row in order,
// and each element walks the list of its row only.
#pragma once

#include <optional>

#include "code/loops/emit/emitter.h"
#include "code/region_code.h"

namespace stitch::code::loops {

struct SourceLists {
  int64_t sources = 0;  // entries of the index
  int64_t rows = 0;     // of the result
  bool by_row = true;   // false: a list per element of the result
  bool few = false;     // so few sources that scanning all is as fast
};
// Empty: there is nothing to list, or too much.
std::optional<SourceLists> source_lists(const Graph& graph, const Node& node);
// The target row of a source.
Expression target_of_source(Emitter& emitter, const Node& node, const Index& source);

Result<void> accepts_scatter(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_scatter(const RegionRequest& request);
Result<void> accepts_sort(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_sort(const RegionRequest& request);

}  // namespace stitch::code::loops
