// A value inside a region as what it is in memory: a place's elements under strides. Views cost nothing as
// long as they can be said this way.
#pragma once

#include <optional>

#include "code/region_code.h"

namespace stitch::code {

struct View {
  const Place* place = nullptr;
  Shape shape;
  std::vector<int64_t> strides;  // in elements, one a dimension of `shape`
  int64_t offset = 0;

  int64_t elements() const { return element_count(shape); }
  bool contiguous() const;
};

View view_of(const Place& place);
View permuted(const View& view, const std::vector<int64_t>& dims);
View expanded(const View& view, const Shape& shape);
// Nothing, where the elements' order in memory doesn't allow it.
std::optional<View> reshaped(const View& view, const Shape& shape);

// The result of a view node on the view of its operand; nothing for any other node.
std::optional<View> viewed(const Node& node, const View& operand);
bool is_view(Op op);

// The view of `value`, through view nodes back to a place of the request. Nothing: it is computed inside, or
// a reshape on the way needs a copy.
std::optional<View> find_view(const RegionRequest& request, ValueId value);

}  // namespace stitch::code
