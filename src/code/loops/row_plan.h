// How the threads of a kernel share the rows of a reduction.
#pragma once

#include <optional>

#include "code/loops/reduction.h"
#include "code/region_code.h"

namespace stitch::code::loops {

// Rows of a block that turns its results, and their length at most: 32 rows fill lines of the result, and 33
// KB of shared memory leave room for several blocks.
constexpr int turned_rows = 32;
constexpr int64_t most_turned_length = 256;
// Shared memory of a multiprocessor of Hopper's, and what each block takes besides what it holds.
constexpr int64_t team_room = 227 * 1024, team_extra = 1536;

struct RowPlan {
  Reduction reduction;
  // Dimensions of the reduction's kept and reduced shapes as the operand lies in memory, outermost first.
  std::vector<size_t> kept_order, reduced_order;
  bool column = false;  // neighbouring rows lie beside each other: threads stand across rows
  int64_t rows = 0, length = 0;
  int64_t width = 1;   // of a pack along the row
  size_t joined = 0;   // of the innermost reduced dimensions, which packs may reach across
  int lanes = 32;      // threads that share a row
  int threads = 128;   // of a block
  int columns = 1;     // rows of a block, side by side
  int64_t across = 1;  // neighbouring rows that a thread reads as a pack, where rows are columns
  int64_t held = 0;    // packs of a row that a thread keeps in registers; 0: none, rows are read again
  int64_t parts = 1;   // blocks that share a row and leave their findings to another kernel
  // Blocks that hold a row in their shared memory together, `held` packs a thread, and wait for each other.
  int64_t team = 1;
  int64_t resident = 1;  // of which a multiprocessor runs so many at a time
  bool turned = false;   // results of a block's rows are written across its rows, through shared memory

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
// Columns whose threads take packs of neighbouring rows; nothing where rows are no whole packs.
std::optional<RowPlan> with_packed_rows(const RowPlan& plan, int64_t across);
// Threads, and what they hold, for a kernel that does everything at once.
void plan_fused(RowPlan& plan);
// The same for short rows whose results lie side by side; false where they are too long for that.
bool plan_turned(RowPlan& plan);
// The same with a row held by a team of blocks, so many bytes an element; false where none can.
bool plan_team(RowPlan& plan, int64_t element_bytes);
// Is such a team faster than reading rows again? `op` reduces them.
bool team_pays(const RowPlan& plan, Op op);
// Threads and parts, for one that goes over each row once.
void plan_parts(RowPlan& plan);

}  // namespace stitch::code::loops
