// linear, matmul and einsum in one form: out[batch, row, column] = Σ_depth left[batch, row, depth] ·
// right[batch, depth, column], each of the four a nest of axes with a stride on every tensor.
#pragma once

#include <deque>

#include "code/index.h"
#include "code/products/parts.h"

namespace stitch::code {

struct Axis {
  int64_t extent;
  int64_t left = 0, right = 0, out = 0;  // strides
  int64_t position = 0;                  // in the row-major result, for epilogues
};
using Axes = std::vector<Axis>;
int64_t extent(const Axes& axes);

struct Contraction {
  View left, right, out;  // right is empty if there is one operand only
  Axes batch, rows, columns, depth;
  // For results without strides: an element's place from its row-major position.
  std::function<Index(const Index& position)> scatter;

  bool has_right() const { return right.place != nullptr; }
};

// A tensor with a label for each dimension.
struct Labelled {
  View view;
  std::vector<int> labels;
};

// Drops axes of size one and merges axes that are contiguous in all tensors.
Contraction contract(const Labelled& left, const Labelled* right, const Labelled& out);

// The products of a region, in order: one, or for einsum of several operands one per pair from the left, with
// dense results in the workspace. Places of such results are kept in `made`; their pointers are names of
// locals.
struct Products {
  std::vector<Contraction> steps;
  std::deque<Place> made;  // a deque, so that references stay valid
};
Result<Products> products_of(const RegionRequest& request, const Parts& parts);

// For `accepts`: every view before the product can be described by strides, if its source is row-major.
Result<void> accepts_views(const Graph& graph, const plan::Region& region, const Parts& parts);

// (64, 100) = (64, 256) · (256, 100): the comment above a product.
std::string describe(const Contraction& contraction);
// One of left, right, out, position at the loop variables batch, row, column, k.
Index index_in(const Contraction& contraction, int64_t Axis::*tensor);

}  // namespace stitch::code
