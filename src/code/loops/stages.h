// Statistics of whole rows, computed by separate kernels before the one that uses them. A row is split into
// parts if there are too few rows to fill the GPU: each part's result is stored, and a second kernel combines
// them in a fixed order. No atomics: deterministic.
#pragma once

#include <map>
#include <set>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

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
