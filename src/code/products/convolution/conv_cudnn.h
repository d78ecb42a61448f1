// conv.cudnn as a row, which conv.cudnn_graph and conv.as_pytorch change, and the region that they write.
#pragma once

#include <optional>
#include <vector>

#include "code/products/convolution/convolution.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"

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

Result<void> accepts_conv_cudnn(const plan::Context& context, const plan::Region& region);
std::vector<plan::Offer> offers_conv_cudnn(const plan::Context& context, const plan::Region& region);
plan::Rate cudnn_rate(const plan::Context& context, const plan::Region& region);
// Including its own copies, in the multiplied type.
std::optional<double> cudnn_kernel_bytes(const plan::Context& context, const plan::Region& region);
double cudnn_rearranged_bytes(CudnnForm form, const plan::Context& context, const plan::Plan& plan,
                              const plan::Region& region);
bool cudnn_rounds_product(CudnnForm form, const plan::Context& context, const plan::Plan& plan,
                          const plan::Region& region);

template <CudnnForm form>
constexpr ProductRow cudnn_row(std::string_view name, std::string_view idea) {
  return {
      .name = name,
      .idea = idea,
      .kind = plan::Kind::convolution,
      .accepts = accepts_conv_cudnn,
      .write = [](const RegionRequest& request) { return write_cudnn_convolution(request, form); },
      .rate = cudnn_rate,
      .offers = offers_conv_cudnn,
      .has_free_epilogue = form == CudnnForm::graph,
      .kernel_bytes = cudnn_kernel_bytes,
      .rearranged_bytes =
          [](const plan::Context& context, const plan::Plan& plan, const plan::Region& region) {
            return cudnn_rearranged_bytes(form, context, plan, region);
          },
      .operand_precision = convolution_precision,
      .rounds_product =
          [](const plan::Context& context, const plan::Plan& plan, const plan::Region& region) {
            return cudnn_rounds_product(form, context, plan, region);
          },
  };
}

// The epilogue of a convolution as steps of cuDNN's operation graphs (runtime/cudnn_graph.h).

struct GraphEpilogue {
  std::vector<std::string> steps;     // initialisers of stitch::FusedStep
  std::vector<std::string> operands;  // initialisers of stitch::FusedOperand
  std::vector<const Place*> places;   // of the operands, in their order
};

// Whether graphs support these operations and shapes; storage isn't known yet.
bool has_graph_epilogue(const Graph& graph, const plan::Region& region, const Parts& parts);
// Empty: something isn't stored as a graph needs it.
std::optional<GraphEpilogue> graph_epilogue_of(const RegionRequest& request, const Parts& parts,
                                               const Convolution& convolution);

}  // namespace stitch::code
