// What convolution and its transpose share.
#pragma once

#include "graph/attributes.h"
#include "oracle/tensor.h"
#include "oracle/window.h"

namespace stitch::oracle {

// `plane` is the side with one position a window, `image` the side that windows slide over: a
// convolution reads the image and writes the plane, a transposed one the other way round.
struct Geometry {
  Spatial image, filter, plane, stride, padding, dilation;
};
Geometry conv_geometry(const Shape& image, const Shape& filter, const Shape& plane,
                       const Attributes& attributes);

// The plane positions [begin, end) whose window's `tap` lies inside the image, at position * stride + shift.
struct Valid {
  int64_t begin, end, shift;
};
Valid valid_positions(const Geometry& geometry, size_t dim, int64_t tap);

// Every channel's plane set to its bias, or to zero.
void fill_planes(Tensor& out, const double* bias);

}  // namespace stitch::oracle
