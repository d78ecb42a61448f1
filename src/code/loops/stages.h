// Statistics of whole rows, worked out by kernels of their own before the one that uses them. A row is cut
// into parts where there are too few rows to keep a GPU busy: each part's result is stored, and a second
// kernel joins them in a fixed order. No atomics: equal inputs give equal outputs.
#pragma once

#include <map>
#include <set>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

class Stages {
 public:
  explicit Stages(const RegionRequest& request) : request_(request) {}

  // Where the statistics of a reduction lie, one an array, indexed by the row. Its kernels are written first.
  const std::vector<std::string>& arrays_of(const Reduction& reduction);
  // What an array's elements are called where they are read.
  const std::string& statistic_of(const std::string& array) const { return statistics_.at(array); }
  // The number of a row there: in the order in which rows lie in memory, so that neighbours stay neighbours.
  Index row_of(const Reduction& reduction, const Indices& kept) const;
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const Workspace& workspace() const { return workspace_; }
  // Running statistics follow from a row's statistics: the kernel that has them writes those, too.
  std::vector<const Place*> renewed_by(const Reduction& reduction) const;
  bool renewed(const Place& write) const { return renewed_.contains(&write); }

 private:
  std::vector<Reduction> same_stage(const Reduction& reduction) const;

  const RegionRequest& request_;
  std::set<int32_t> started_;  // reductions whose kernels are being written, or are
  Workspace workspace_;
  Names names_;  // of arrays and kernels
  std::vector<Kernel> kernels_;
  std::map<int32_t, std::vector<std::string>> arrays_;
  std::map<std::string, std::string> statistics_;  // by array
  std::map<int32_t, std::vector<size_t>> orders_;  // of a row's indices, outermost first
  std::set<const Place*> renewed_;
};

// The region by stages: statistics first, then loops over the results. Any region that has no other
// reductions than those of reduction.h can be written so.
Result<RegionCode> write_staged(const RegionRequest& request);

}  // namespace stitch::code::loops
