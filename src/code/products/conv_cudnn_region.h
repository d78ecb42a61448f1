// A convolution by cuDNN as CUDA source: what conv.cudnn, conv.cudnn_graph and conv.as_pytorch write.
#pragma once

#include "code/products/parts.h"
#include "code/region_code.h"

namespace stitch::code {

// What a convolution with a bias is added to before a ReLU, or before nothing: cuDNN's call has that, too.
// None: there is more to do, or something else.
ValueId residual_of(const Graph& graph, const Parts& parts);

enum class CudnnForm : uint8_t {
  library,     // by cuDNN's own call, with a bias, a residual and a ReLU
  graph,       // with its epilogue as one operation graph of cuDNN's, where everything lies as that takes it
  as_pytorch,  // alone, channels first, by the engine that PyTorch takes
};
Result<RegionCode> write_cudnn_convolution(const RegionRequest& request, CudnnForm form);

}  // namespace stitch::code
