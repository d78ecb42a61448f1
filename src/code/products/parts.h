// A region of one product: views of its operands, the product, and its pointwise epilogue.
#pragma once

#include <functional>
#include <span>

#include "code/index.h"
#include "code/products/techniques.h"
#include "code/products/view.h"

namespace stitch::code {

struct Parts {
  const Node* product = nullptr;
  std::vector<const Node*> after;  // pointwise nodes and views that depend on the product, in order
  ValueId result =
      ValueId::none;  // what the region writes: the product's first result, or the last of `after`
};

// Errors say why the region has another form. `joins`: operands may be concatenations.
Result<Parts> parts_of(const Graph& graph, const plan::Region& region, std::span<const Op> products,
                       bool joins = false);

// The indices of a permute's or reshape's result from those of its operand.
Indices through_view(const Graph& graph, const Node& node, const Indices& operand);

// Where the product's own result is stored, through the views that follow it.
struct ResultPlace {
  View view;  // in the product's shape; dense if no strides describe it, and then:
  std::function<Index(const Index& position)> scatter;  // from the row-major position to the element's place
};
Result<ResultPlace> result_place(const RegionRequest& request, const Parts& parts);

}  // namespace stitch::code
