// A value inside a region as an index into a place: reaches through views that strides can't say, a reshape
// of what a permute tore apart, as long as a kernel can compute where an element lies.
#pragma once

#include <optional>

#include "code/index.h"
#include "code/region_code.h"

namespace stitch::code {

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
