// How the threads of a kernel share the rows of a reduction.
#pragma once

#include <map>
#include <set>
#include <variant>

#include "code/loops/kernel.h"
#include "code/loops/reduction.h"
#include "code/region_code.h"

namespace stitch::code::loops {

// Rows of a block that transposes its results, and their maximum length: 32 rows fill lines of the result,
// and 33 KB of shared memory allow several blocks.
constexpr int transposed_rows = 32;
constexpr int64_t most_transposed_length = 256;
// Adjacent rows of up to so many elements are held by a block's threads.
constexpr int64_t most_short_column = 2048;
// Elements of a row that a thread accumulates together if that is cheaper.
constexpr int64_t few_at_once = 8;
// Shared memory of a team's block besides what it holds.
constexpr int64_t team_extra = 1536;

// Lanes of a warp share a row, and a block has several rows.
struct ByLanes {
  int lanes = 32, threads = 128;  // of a row, of a block
  bool transposed = false;        // results are transposed through shared memory
};
// A block shares a row, or a part of one, whose statistics another kernel combines.
struct ByBlock {
  int threads = 128;
  int64_t parts = 1;
};
// Adjacent rows are contiguous in memory: threads run across rows, and the lanes of a row are strided.
struct ByColumns {
  int columns = 32, lanes = 1;
  int64_t across = 1;  // adjacent rows that a thread reads as a vector
  int64_t parts = 1;   // blocks that share rows
  int cluster = 1;     // blocks of a cluster that hold a row together
};
// Several blocks hold a row in shared memory and synchronise.
struct ByTeam {
  static constexpr int threads = 256;  // of a block
  int64_t blocks = 2;
  int64_t resident = 1;  // blocks per multiprocessor at a time
};

struct RowPlan {
  Reduction reduction;
  // Kept and reduced dimensions in the operand's memory order, outermost first.
  std::vector<size_t> kept_order, reduced_order;
  bool column = false;  // adjacent rows are contiguous in memory
  int64_t rows = 0, length = 0;
  bool rows_vary = false, length_varies = false;  // with the sizes of a call
  int64_t width = 1;                              // along the row
  size_t joined = 0;  // number of innermost reduced dimensions that vectors may span
  int64_t held = 0;   // vectors of a row that a thread keeps for later passes; 0: rows are read again
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
  int64_t parts() const;  // of a row, each with its own statistics
  int64_t blocks() const;
  // Whether threads may be past the last row.
  bool overhangs() const;
};

// Strides of a value in memory, or of its source.
std::vector<int64_t> storage_strides(const RegionRequest& request, ValueId id);

RowPlan plan_rows(const RegionRequest& request, const Reduction& reduction);
// The same with vectors of a width, in every way in which a row is whole vectors.
std::vector<RowPlan> with_width(const RowPlan& plan, int64_t width);
// Threads and held elements, for a kernel that does everything at once.
void plan_fused(RowPlan& plan, const GpuSpec& gpu);
// For short rows with transposed results; false if they are too long.
bool plan_transposed(RowPlan& plan);
// For adjacent rows held in the registers of a cluster, with so many values per element; false if that is
// slower or impossible.
bool plan_cluster(RowPlan& plan, int64_t values, const GpuSpec& gpu);
// For rows held by a team of blocks, so many bytes per element; false if impossible.
bool plan_team(RowPlan& plan, int64_t element_bytes, const GpuSpec& gpu);
// Whether such a team is faster than reading rows again. `op` reduces them.
bool team_pays(const RowPlan& plan, Op op, const GpuSpec& gpu);
// Threads and parts, for a single pass over each row.
void plan_parts(RowPlan& plan, const GpuSpec& gpu);
// With threads that take vectors of adjacent rows; false if rows aren't whole vectors.
bool plan_parts_across(RowPlan& plan, int64_t across, const GpuSpec& gpu);

// Statistics of whole rows, computed by separate kernels before the one that uses them. A row is split into
// parts if there are too few rows to fill the GPU: each part's result is stored, and a second kernel combines
// them in a fixed order. No atomics: deterministic.
class Stages {
 public:
  explicit Stages(const RegionRequest& request) : request_(request) {}

  // The arrays of a reduction's statistics, indexed by row; generates its kernels first.
  const std::vector<std::string>& arrays_of(const Reduction& reduction);
  // The name of an array's elements where they are read.
  const std::string& statistic_of(const std::string& array) const { return statistics_.at(array); }
  // A row's number: in memory order, so that adjacent rows stay adjacent.
  Index row_of(const Reduction& reduction, const Indices& kept) const;
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const Workspace& workspace() const { return workspace_; }
  // Running statistics updated from a row's statistics: stored by the kernel that computes these.
  std::vector<const Place*> renewed_by(const Reduction& reduction) const;
  bool renewed(const Place& write) const { return renewed_.contains(&write); }

 private:
  std::vector<Reduction> same_stage(const Reduction& reduction) const;

  const RegionRequest& request_;
  std::set<int32_t> started_;  // reductions whose kernels are generated or in progress
  Workspace workspace_;
  Names names_;  // of arrays and kernels
  std::vector<Kernel> kernels_;
  std::map<int32_t, std::vector<std::string>> arrays_;
  std::map<std::string, std::string> statistics_;  // by array
  std::map<int32_t, std::vector<size_t>> orders_;  // of a row's indices, outermost first
  std::set<const Place*> renewed_;
};

// The region by stages: statistics first, then loops over the results. Works for any region whose reductions
// are those of reduction.h.
Result<RegionCode> write_staged(const RegionRequest& request);

}  // namespace stitch::code::loops
