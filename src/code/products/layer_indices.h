// Convolutions of two dimensions as structs of constants, for kernels that walk images themselves
// (conv_depthwise.h, conv_direct.h).
#pragma once

#include <string>

#include "code/products/convolution.h"

namespace stitch::code {

// "struct NAME {  // what it is" with the types of elements and indices.
std::string layer_head(const Convolution& convolution, const std::string& name);
// Sizes, kernel, stride, padding and dilation.
std::string layer_geometry(const Convolution& convolution);
// Where an element of x, and of the result, lies.
std::string layer_indices(const Convolution& convolution);

}  // namespace stitch::code
