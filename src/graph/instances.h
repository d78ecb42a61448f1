// A model over ranges of sizes: the family of its instances. What holds for sizes that were not tried follows
// from the instances' common form, and is checked by the Verifier at other sizes, some of them secret.
#pragma once

#include "graph/graph.h"
#include "graph/rewrite_limits.h"
#include "graph/sizes.h"

namespace stitch {

struct Instance {
  Sizes sizes;
  Graph graph;
};

struct Instances {
  Dimensions dimensions;
  Sizes example;              // the task's own
  std::vector<Instance> all;  // the first is the one that plans are made at
  Instance largest;           // every size near its maximum, and even
  RewriteLimits limits;       // that the graphs were rewritten within
};

// Sizes that tell formulas apart: spread over each range, mostly odd and prime, none twice. The first lies
// near the example's.
Result<std::vector<Sizes>> instance_sizes(const Dimensions& dimensions, const Sizes& example);
Sizes largest_sizes(const Dimensions& dimensions);
// Sizes all over the ranges, as many small ones as large ones, both ends among them: always the same ones.
std::vector<Sizes> sizes_across(const Dimensions& dimensions);
// The graph at further sizes, by formulas of every number in it. An error: one has none.
Result<std::vector<Instance>> instances_at(const Instances& known, const std::vector<Sizes>& wanted);

// The sizes that a graph's inputs have. An error says which two disagree, or which is outside its range.
Result<Sizes> sizes_of(const Dimensions& dimensions, const Graph& graph);

// The same nodes with the same operands; sizes and numbers may differ. An error names the first node that
// differs.
Result<void> check_same_form(const Instance& one, const Instance& other);

}  // namespace stitch
