// linear, matmul and einsum as one thing: out[batch, row, column] = Σ_depth left[batch, row, depth] ·
// right[batch, depth, column], each of the four a nest of axes with a stride on every tensor.
#pragma once

#include <deque>

#include "code/index.h"
#include "code/products/parts.h"

namespace stitch::code {

struct Axis {
  int64_t extent;
  int64_t left = 0, right = 0, out = 0;  // strides
  int64_t position = 0;                  // in the row-major result: what an epilogue counts
};
using Axes = std::vector<Axis>;
int64_t extent(const Axes& axes);

struct Contraction {
  View left, right, out;  // right has no place where there is one operand only
  Axes batch, rows, columns, depth;
  // Where no strides say how the result lies: its place from its row-major position.
  std::function<Index(const Index& position)> scatter;

  bool has_right() const { return right.place != nullptr; }
};

// A tensor and a label for each of its dimensions.
struct Labelled {
  View view;
  std::vector<int> labels;
};

// Axes of one element are left out, and neighbours that lie behind each other everywhere are joined.
Contraction contract(const Labelled& left, const Labelled* right, const Labelled& out);

// The products of a region, in order: one, or for einsum of several operands one a pair from the left, its
// result dense in the workspace. Places of such results are kept in `made`; their pointers are the C names of
// locals.
struct Products {
  std::vector<Contraction> steps;
  std::deque<Place> made;  // references stay good
};
Result<Products> products_of(const RegionRequest& request, const Parts& parts);

// For `accepts`: every view before the product is one that strides can say, if what it shows lies row-major.
Result<void> accepts_views(const Graph& graph, const plan::Region& region, const Parts& parts);

// (64, 100) = (64, 256) · (256, 100): the comment above a product.
std::string describe(const Contraction& contraction);
// One of left, right, out, position at the loop variables batch, row, column, k.
Index index_in(const Contraction& contraction, int64_t Axis::*tensor);

}  // namespace stitch::code
