// Shared by convolution and its transpose.
#pragma once

#include "graph/attributes.h"
#include "oracle/ops/window.h"
#include "oracle/tensor.h"

namespace stitch::oracle {

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
