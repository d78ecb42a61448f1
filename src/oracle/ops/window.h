// The geometry that convolutions and pools share: three spatial dimensions, the missing ones of size 1.
#pragma once

#include <array>
#include <vector>

#include "graph/type.h"

namespace stitch::oracle {

using Spatial = std::array<int64_t, 3>;

// The last dimensions of a list, filled up in front: (5, 7) is (fill, 5, 7).
inline Spatial spatial(std::vector<int64_t> values, int64_t fill) {
  Spatial out = {fill, fill, fill};
  for (size_t i = 0; i < values.size(); ++i) out[3 - values.size() + i] = values[i];
  return out;
}

inline Spatial spatial_shape(const Shape& shape) { return spatial({shape.begin() + 2, shape.end()}, 1); }

inline int64_t volume(const Spatial& size) { return size[0] * size[1] * size[2]; }

}  // namespace stitch::oracle
