// Shared by convolution and its transpose.
#pragma once

#include <array>
#include <vector>

#include "graph/attributes.h"
#include "graph/type.h"
#include "oracle/tensor.h"

namespace stitch::oracle {

// The geometry that convolutions and pools share: three spatial dimensions, the missing ones of size 1.

using Spatial = std::array<int64_t, 3>;

// The last dimensions of a list, filled up in front: (5, 7) is (fill, 5, 7).
inline Spatial spatial(std::vector<int64_t> values, int64_t fill) {
  Spatial out = {fill, fill, fill};
  for (size_t i = 0; i < values.size(); ++i) out[3 - values.size() + i] = values[i];
  return out;
}

inline Spatial spatial_shape(const Shape& shape) { return spatial({shape.begin() + 2, shape.end()}, 1); }

inline int64_t volume(const Spatial& size) { return size[0] * size[1] * size[2]; }

// `plane` has one position per window, `image` is what windows slide over: a convolution reads the image and
// writes the plane, a transposed one the reverse.
struct Geometry {
  Spatial image, filter, plane, stride, padding, dilation;
};
Geometry conv_geometry(const Shape& image, const Shape& filter, const Shape& plane,
                       const Attributes& attributes);

// The plane positions [begin, end) whose `tap` is inside the image, at position * stride + shift.
struct Valid {
  int64_t begin, end, shift;
};
Valid valid_positions(const Geometry& geometry, size_t dim, int64_t tap);

// Sets every channel's plane to its bias, or to zero.
void fill_planes(Tensor& out, const double* bias);

}  // namespace stitch::oracle
