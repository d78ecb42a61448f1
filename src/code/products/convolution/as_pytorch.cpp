// batch_norm.as_pytorch: a batch norm in training by the cuDNN call that PyTorch makes
// (kernels/batch_norm_cudnn.h). TF32 convolutions after it amplify differences: one element in ten thousand
// that differs in FP32's last bit becomes another TF32 number, and 0.014 % of a ResNet block's results were
// outside KernelBench's tolerance (H200). Chosen if results must match PyTorch's (--compat kernelbench).
#include "base/text.h"
#include "code/products/convolution/conv_cudnn.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "code/products/view.h"
#include "plan/constants.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

const Node& norm_of(const Graph& graph, const plan::Region& region) { return graph.node(region.nodes[0]); }

Result<void> accepts_batch_norm_as_pytorch(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  const Node& node = norm_of(graph, region);
  if (region.nodes.size() != 1 || node.op != Op::batch_norm || !node.attributes.flag("training"))
    return not_for(region, "takes a batch norm in training alone");
  const TensorType& x = graph.type(node.operands[0]);
  if (x.dtype != DType::f32 || context.numerics == Numerics::half)
    return not_for(region, "takes FP32 images");
  if (x.rank() < 3 || x.rank() > 5) return not_for(region, "takes images of one to three dimensions");
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  if (x.elements() == 0 || x.elements() > most) return not_for(region, "has no such tensors");
  for (ValueId operand : node.operands)
    if (operand == ValueId::none || graph.type(operand).dtype != DType::f32)
      return not_for(region, "takes scale, bias and running statistics in f32");
  return {};
}

Result<RegionCode> write_batch_norm_as_pytorch(const RegionRequest& request) {
  const Node& node = norm_of(request.graph, request.region);
  for (ValueId value : {node.operands[0], node.results[0]})
    if (const Place* place = request.find(value);
        place && (place->dtype != DType::f32 || !view_of(*place).contiguous()))
      return not_for(request.region, "needs its images dense, in f32");
  Signature signature("enqueue_" + request.name);
  DenseTensors tensors(request, signature);
  const std::string x = tensors.read(request.find(node.operands[0]));
  std::vector<std::string> channels;  // scale, bias, running mean and variance
  for (size_t i = 1; i < node.operands.size(); ++i) {
    const Place* place = request.find(node.operands[i]);
    signature.read(*place);
    channels.push_back(place->pointer);
  }
  const std::string y = tensors.write(request.find(node.results[0]), "unused_y",
                                      request.graph.type(node.results[0]).elements());
  std::vector<std::string> renewed;
  for (size_t i = 1; i < node.results.size(); ++i) {
    const Place* place = request.find(node.results[i]);
    if (place) signature.write(*place);
    renewed.push_back(place ? place->pointer : "nullptr");
  }

  Shape sizes = request.graph.type(node.operands[0]).shape;
  if (sizes.size() == 3) sizes.push_back(1);
  const std::string member = request.name + "_batch_norm";
  RegionCode code;
  code.members.push_back({"stitch::CudnnBatchNorm",
                          member,
                          format("STITCH_OK_OR_RETURN({}.create({}, {{{}, {{{}}}, {}, {}}}));", member,
                                 request.cudnn, sizes.size(), join(sizes, ", "),
                                 node.attributes.number("momentum"), node.attributes.number("eps")),
                          {}});
  signature.member(code.members.back());
  code.includes = "#include \"stitch/kernels/batch_norm_cudnn.h\"\n#include \"stitch/runtime/tensors.h\"\n";
  code.libraries = {"cudnn"};
  code.declaration = signature.declaration();
  code.source = format(
      "// A batch norm by cuDNN, as PyTorch calls it.\n{} {{\n{}"
      "  STITCH_OK_OR_RETURN({}.enqueue({}, {}, {}, {}, stream));\n{}  return STITCH_OK;\n}}\n",
      signature.head(), tensors.before, member, x, join(channels, ", "), y, join(renewed, ", "),
      tensors.after);
  code.arguments = signature.arguments();
  code.workspace_bytes = tensors.bytes;
  return code;
}

}  // namespace

constinit const ProductTechnique batch_norm_as_pytorch{{
    .name = "batch_norm.as_pytorch",
    .idea = "a batch norm in training with the cuDNN call that PyTorch makes: it rounds as PyTorch does",
    .kind = plan::Kind::loop,
    .accepts = accepts_batch_norm_as_pytorch,
    .write = write_batch_norm_as_pytorch,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {context.gpu.fp32, 0.5, 5};  // reads twice; four copies of statistics
    },
    .suits = [](const plan::Context& context, const plan::Region&,
                const plan::Offer&) { return context.torch.as_pytorch; },
    .has_free_epilogue = false,
}};

// conv.as_pytorch: a convolution or transposed convolution of FP32 images by the cuDNN engine that PyTorch
// uses (runtime/cudnn_as_pytorch.h), so that both round alike, and a pass for the epilogue. TF32 or FP32,
// like PyTorch. Chosen if results must match PyTorch's (--compat kernelbench), except for depthwise ones,
// which PyTorch computes by its own FP32 kernels.

namespace {

Result<void> accepts_conv_as_pytorch(const plan::Context& context, const plan::Region& region) {
  STITCH_CHECK(accepts_conv_cudnn(context, region));
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  if (graph.type(node.results[0]).dtype != DType::f32 || context.numerics == Numerics::half)
    return not_for(region, "takes FP32 images");
  const Convolution c = geometry_of(graph, node);
  if (c.depthwise() && !c.transposed) return not_for(region, "has no depthwise convolutions");
  // Engines are built together, after what is computed once at create.
  if (plan::is_constant(graph, node.operands[0]))
    return not_for(region, "takes no images made of weights alone");
  return {};
}

std::vector<plan::Offer> offers_conv_as_pytorch(const plan::Context& context, const plan::Region& region) {
  using plan::Arithmetic, plan::Order;
  const Node& node = *plan::convolution_in(context.graph, region);
  const bool tf32 = context.rounding.is_tf32_in_pytorch(context.graph.number_of(node));
  return {{tf32 ? Arithmetic::by_class : Arithmetic::exact, Order::row_major}};
}

}  // namespace

constinit const ProductTechnique conv_as_pytorch{[] {
  ProductRow row = cudnn_row<CudnnForm::as_pytorch>(
      "conv.as_pytorch",
      "a convolution with the cuDNN engine that PyTorch uses: it rounds where PyTorch does");
  row.accepts = accepts_conv_as_pytorch;
  row.offers = offers_conv_as_pytorch;
  row.suits = [](const plan::Context& context, const plan::Region&, const plan::Offer&) {
    return context.torch.as_pytorch;
  };
  return row;
}()};

}  // namespace stitch::code
