// A value inside a region as a place's elements under strides. Views that can be described this way cost
// nothing.
#pragma once

#include <optional>

#include "code/index.h"
#include "code/region_code.h"

namespace stitch::code {

struct View {
  const Place* place = nullptr;
  Shape shape;
  std::vector<int64_t> strides;  // in elements, one per dimension of `shape`
  int64_t offset = 0;

  int64_t elements() const { return element_count(shape); }
  bool contiguous() const;
};

View view_of(const Place& place);
View permuted(const View& view, const std::vector<int64_t>& dims);
View expanded(const View& view, const Shape& shape);
// Empty if the order in memory doesn't allow it.
std::optional<View> reshaped(const View& view, const Shape& shape);

// The result of a view node on the view of its operand; empty for other nodes.
std::optional<View> viewed(const Node& node, const View& operand);
bool is_view(Op op);

// The view of `value`, through view nodes back to a place of the request. Empty: it is computed inside, or a
// reshape needs a copy.
std::optional<View> find_view(const RegionRequest& request, ValueId value);

// A value inside a region as an index into a place: reaches through views that strides can't say, a reshape
// of what a permute tore apart, as long as a kernel can compute where an element lies.

struct Indexed {
  const Place* place = nullptr;
  Index at;  // in the place's elements
};

// The element of `value` at `indices`, through view nodes back to a place of the request. Empty: it is
// computed inside.
std::optional<Indexed> find_indexed(const RegionRequest& request, ValueId value, Indices indices);

// The same through a concat of two along `variable`, which is one of `indices`: from `start` on the second,
// where the variable counts from 0 again.
struct Joined {
  Indexed first;
  std::optional<Indexed> rest;
  int64_t start = 0;
};
std::optional<Joined> find_joined(const RegionRequest& request, ValueId value, Indices indices,
                                  const char* variable);

}  // namespace stitch::code
