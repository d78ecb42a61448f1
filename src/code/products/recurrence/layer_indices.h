// 2-d convolutions as structs of constants, for conv_depthwise.h and conv_direct.h.
#pragma once

#include <string>

#include "code/products/convolution/convolution.h"

namespace stitch::code {

// "struct NAME {  // description" with element and index types.
std::string layer_head(const Convolution& convolution, const std::string& name);
// Sizes, kernel, stride, padding and dilation.
std::string layer_geometry(const Convolution& convolution);
// Offsets of elements of x and of the result.
std::string layer_indices(const Convolution& convolution);

}  // namespace stitch::code
