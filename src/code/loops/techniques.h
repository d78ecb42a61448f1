// Techniques whose kernels are generated from expressions: everything but products, convolutions, attention
// and recurrences.
#pragma once

#include "base/format.h"
#include "code/region_code.h"
#include "code/technique.h"
#include "graph/op.h"

namespace stitch::code::loops {

const Technique& loop();
const Technique& batch_norm();
const Technique& row();
const Technique& scan();
const Technique& scatter();
const Technique& sort();
const Technique& factor();
const Technique& grouped();
// The first that accepts a region; an error says why none does.
Result<const Technique*> classify(const plan::Context& context, const plan::Region& region);

// What the techniques for rows, scans, factorisations and grouped products accept and write.

// Regions of a single node, for techniques that fuse nothing.
inline Result<void> accepts_alone(const plan::Context& context, const plan::Region& region,
                                  bool (*is_ours)(Op), const char* what) {
  for (int32_t n : region.nodes)
    if (Op op = context.graph.node(n).op; !is_ours(op) || region.nodes.size() > 1)
      return work_error("technique", format("{}: {} is not {} alone", region.name, info(op).name, what));
  if (region.nodes.empty()) return work_error("technique", format("{}: no nodes", region.name));
  return {};
}

// Row reductions: softmax, norms, sums and so on, with everything pointwise around them. One kernel if a
// row's threads can do it all; otherwise stages.
Result<void> accepts_row(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_row(const RegionRequest& request);
Result<void> accepts_batch_norm(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_batch_norm(const RegionRequest& request);

// Running sums, products and extremes: a block walks a row in chunks with a carry, or a thread walks a row of
// its own.
Result<void> accepts_scan(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_scan(const RegionRequest& request);

// LU, Cholesky, QR and triangular systems: one block per matrix.
Result<void> accepts_factor(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_factor(const RegionRequest& request);

// Grouped products, as in a mixture of experts: tiles on tensor cores, or one thread per element.
Result<void> accepts_grouped(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_grouped(const RegionRequest& request);
// Whether it uses tiles on tensor cores.
bool groups_in_tiles(const plan::Context& context, const plan::Region& region);

}  // namespace stitch::code::loops
