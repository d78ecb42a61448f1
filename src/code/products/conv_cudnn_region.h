// A convolution by cuDNN as CUDA source: what conv.cudnn and conv.cudnn_graph write.
#pragma once

#include "code/products/parts.h"
#include "code/region_code.h"

namespace stitch::code {

// What a convolution with a bias is added to before a ReLU, or before nothing: cuDNN's call has that, too.
// None: there is more to do, or something else.
ValueId residual_of(const Graph& graph, const Parts& parts);

// `as_graph`: with its epilogue as one operation graph of cuDNN's, where everything lies as that takes it.
Result<RegionCode> write_cudnn_convolution(const RegionRequest& request, bool as_graph);

}  // namespace stitch::code
