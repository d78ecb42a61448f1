// How the threads of a kernel share the rows of a reduction.
#pragma once

#include "code/loops/reduction.h"
#include "code/region_code.h"

namespace stitch::code::loops {

struct RowPlan {
  Reduction reduction;
  // Dimensions of the reduction's kept and reduced shapes as the operand lies in memory, outermost first.
  std::vector<size_t> kept_order, reduced_order;
  bool column = false;  // neighbouring rows lie beside each other: threads stand across rows
  int64_t rows = 0, length = 0;
  int64_t width = 1;  // of a pack along the row
  size_t joined = 0;  // of the innermost reduced dimensions, which packs may reach across
  int lanes = 32;     // threads that share a row
  int threads = 128;  // of a block
  int columns = 1;    // rows of a block, side by side
  int64_t held = 0;   // packs of a row that a thread keeps in registers; 0: none, rows are read again
  int64_t parts = 1;  // blocks that share a row

  int64_t packs() const { return length / width; }
  int64_t blocks() const;
  bool whole_block() const { return !column && lanes == threads; }
  // May threads find themselves past the last row?
  bool overhangs() const;
};

// Strides of a value as it lies in memory, or as what it is made from does.
std::vector<int64_t> storage_strides(const RegionRequest& request, ValueId id);

RowPlan plan_rows(const RegionRequest& request, const Reduction& reduction);
// The same with packs of a width, in every way in which a row is whole packs.
std::vector<RowPlan> with_width(const RowPlan& plan, int64_t width);
// Threads, and what they hold, for a kernel that does everything at once.
void plan_fused(RowPlan& plan);
// Threads and parts, for one that goes over each row once.
void plan_parts(RowPlan& plan);

}  // namespace stitch::code::loops
