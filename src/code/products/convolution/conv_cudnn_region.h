// CUDA source for a convolution by cuDNN: for conv.cudnn, conv.cudnn_graph and conv.as_pytorch.
#pragma once

#include "code/products/parts.h"
#include "code/region_code.h"

namespace stitch::code {

// The residual that a convolution with a bias is added to, before a ReLU or nothing, which cuDNN's call
// supports. None: there is more to do, or something else.
ValueId residual_of(const Graph& graph, const Parts& parts);

enum class CudnnForm : uint8_t {
  library,     // cuDNN's own call, with bias, residual and ReLU
  graph,       // with its epilogue as a cuDNN operation graph, if all layouts match
  as_pytorch,  // alone, NCHW, by PyTorch's engine
};
Result<RegionCode> write_cudnn_convolution(const RegionRequest& request, CudnnForm form);

}  // namespace stitch::code
