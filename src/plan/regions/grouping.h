// Regions while they are being fused.
#pragma once

#include <set>
#include <vector>

#include "plan/plan.h"

namespace stitch::plan {

// A product, convolution, attention or recurrence.
bool has_product(const Graph& graph, const Region& region);
// Pointwise nodes, views and constants, which are created where they are used.
bool element_wise(const Graph& graph, const Region& region);

class Grouping {
 public:
  Grouping(const Graph& graph, std::vector<Region> regions);

  size_t size() const { return regions_.size(); }
  const Region& operator[](size_t r) const { return regions_[r]; }
  // False once it was merged into another group.
  bool alive(size_t r) const { return !regions_[r].nodes.empty(); }

  // The groups that read this group's results.
  std::set<size_t> consumers(size_t r) const;
  // Computed by a node, not an input.
  bool is_made(ValueId id) const;
  // The last node of the groups that read it; the end of the graph if it is an output.
  int32_t last_reader(ValueId id) const;
  // Is there a path from `from` to `into` through a third group? Then they can't be one region.
  bool detour(size_t from, size_t into) const;
  // The nodes of both, named, without a technique yet.
  Region merged(size_t a, size_t b) const;
  // Replaces `a` with `region` and removes `b`.
  void merge(size_t a, size_t b, Region region);
  // In an order that can run.
  std::vector<Region> in_order();

 private:
  const Graph& graph_;
  std::vector<Region> regions_;
  std::vector<size_t> group_of_;
  std::vector<std::vector<int32_t>> users_;
};

}  // namespace stitch::plan
