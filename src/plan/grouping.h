// Regions as they grow together.
#pragma once

#include <set>
#include <vector>

#include "plan/plan.h"

namespace stitch::plan {

class Grouping {
 public:
  Grouping(const Graph& graph, std::vector<Region> regions);

  size_t size() const { return regions_.size(); }
  const Region& operator[](size_t r) const { return regions_[r]; }
  // Others were taken over.
  bool alive(size_t r) const { return !regions_[r].nodes.empty(); }

  // The groups that read what this one makes.
  std::set<size_t> consumers(size_t r) const;
  // By a node, not handed in.
  bool is_made(ValueId id) const;
  // The last node of the groups that read it; the end, if it is handed out.
  int32_t last_reader(ValueId id) const;
  // Leaving `from`, can one come back into `into` through a third group? Then they can't be one region.
  bool detour(size_t from, size_t into) const;
  // The nodes of both, named, with nobody to implement them yet.
  Region merged(size_t a, size_t b) const;
  // `a` takes `b` over.
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
