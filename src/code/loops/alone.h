// Regions of a single node, for techniques that fuse nothing.
#pragma once

#include "base/format.h"
#include "graph/op.h"
#include "plan/context.h"
#include "plan/plan.h"

namespace stitch::code::loops {

inline Result<void> accepts_alone(const plan::Context& context, const plan::Region& region,
                                  bool (*is_ours)(Op), const char* what) {
  for (int32_t n : region.nodes)
    if (Op op = context.graph.nodes[static_cast<size_t>(n)].op; !is_ours(op) || region.nodes.size() > 1)
      return work_error("technique", format("{}: {} is not {} alone", region.name, info(op).name, what));
  if (region.nodes.empty()) return work_error("technique", format("{}: no nodes", region.name));
  return {};
}

}  // namespace stitch::code::loops
