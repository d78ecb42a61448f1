// How the threads of a kernel share the rows of a reduction.
#pragma once

#include <variant>

#include "code/loops/reduction.h"
#include "code/region_code.h"

namespace stitch::code::loops {

// Rows of a block that transposes its results, and their length at most: 32 rows fill lines of the result,
// and 33 KB of shared memory leave room for several blocks.
constexpr int transposed_rows = 32;
constexpr int64_t most_transposed_length = 256;
// Rows side by side of up to so many elements are held by a block's threads.
constexpr int64_t most_short_column = 2048;
// Elements of a row that a thread takes at once, where that costs less than one by one.
constexpr int64_t few_at_once = 8;
// Shared memory that each block of a team takes besides what it holds.
constexpr int64_t team_extra = 1536;

// Lanes of a warp share a row, and a block has several rows.
struct ByLanes {
  int lanes = 32, threads = 128;  // of a row, of a block
  bool transposed = false;        // results of a block's rows are written across them, through shared memory
};
// A block shares a row, or a part of one: then it leaves its statistics to another kernel.
struct ByBlock {
  int threads = 128;
  int64_t parts = 1;
};
// Neighbouring rows lie beside each other: threads stand across rows, and lanes of a row above each other.
struct ByColumns {
  int columns = 32, lanes = 1;
  int64_t across = 1;  // neighbouring rows that a thread reads as a vector
  int64_t parts = 1;   // blocks that share rows
  int cluster = 1;     // neighbouring blocks that hold a row together
};
// Blocks hold a row in their shared memory together, and wait for each other.
struct ByTeam {
  static constexpr int threads = 256;  // of a block
  int64_t blocks = 2;
  int64_t resident = 1;  // blocks that a multiprocessor runs at a time
};

struct RowPlan {
  Reduction reduction;
  // Dimensions of the reduction's kept and reduced shapes as the operand lies in memory, outermost first.
  std::vector<size_t> kept_order, reduced_order;
  bool column = false;  // neighbouring rows lie beside each other
  int64_t rows = 0, length = 0;
  int64_t width = 1;  // of a vector along the row
  size_t joined = 0;  // of the innermost reduced dimensions, which vectors may reach across
  int64_t held = 0;   // vectors of a row that a thread keeps for later passes; 0: none, rows are read again
  std::variant<ByLanes, ByBlock, ByColumns, ByTeam> sharing;

  int64_t vectors() const { return length / width; }
  const ByTeam* team() const { return std::get_if<ByTeam>(&sharing); }
  const ByBlock* block() const { return std::get_if<ByBlock>(&sharing); }
  const ByColumns* columns() const { return std::get_if<ByColumns>(&sharing); }
  const ByLanes* lanes_of_warp() const { return std::get_if<ByLanes>(&sharing); }
  bool transposed() const { return lanes_of_warp() && lanes_of_warp()->transposed; }
  int lanes() const;    // threads of a block that share a row
  int threads() const;  // of a block
  int cluster() const { return columns() ? columns()->cluster : 1; }
  int64_t across() const { return columns() ? columns()->across : 1; }
  int64_t parts() const;  // of a row, each with statistics of its own
  int64_t blocks() const;
  // May threads find themselves past the last row?
  bool overhangs() const;
};

// Strides of a value as it lies in memory, or as what it is made from does.
std::vector<int64_t> storage_strides(const RegionRequest& request, ValueId id);

RowPlan plan_rows(const RegionRequest& request, const Reduction& reduction);
// The same with vectors of a width, in every way in which a row is whole vectors.
std::vector<RowPlan> with_width(const RowPlan& plan, int64_t width);
// Threads, and what they hold, for a kernel that does everything at once.
void plan_fused(RowPlan& plan, const GpuSpec& gpu);
// The same for short rows whose results lie side by side; false where they are too long for that.
bool plan_transposed(RowPlan& plan);
// The same with rows side by side held in the registers of a cluster of blocks, so many values an element;
// false where that is slower, or can't be.
bool plan_cluster(RowPlan& plan, int64_t values, const GpuSpec& gpu);
// The same with a row held by a team of blocks, so many bytes an element; false where none can.
bool plan_team(RowPlan& plan, int64_t element_bytes, const GpuSpec& gpu);
// Is such a team faster than reading rows again? `op` reduces them.
bool team_pays(const RowPlan& plan, Op op, const GpuSpec& gpu);
// Threads and parts, for one that goes over each row once.
void plan_parts(RowPlan& plan, const GpuSpec& gpu);
// The same with threads that take vectors of neighbouring rows; false where rows are no whole vectors.
bool plan_parts_across(RowPlan& plan, int64_t across, const GpuSpec& gpu);

}  // namespace stitch::code::loops
