// attention.flash: flash attention in FP32 on the CUDA cores, exact, any mask (kernels/attention_flash.h): q
// and the result move once, k and v once per 64 queries. Heads of at most 128 features. Chosen where tensor
// cores can't be used.
#include <array>

#include "base/text.h"
#include "code/products/attention/attention.h"
#include "code/products/techniques.h"
#include "program/include/stitch/kernels/shared_memory.h"

namespace stitch::code {

namespace {

constexpr int64_t widest = 128;

Result<void> accepts_attention_flash(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, attention_ops));
  const Node& node = *parts.product;
  if (graph.type(node.results[0]).dtype == DType::f64) return not_for(region, "sums in f32");
  if (graph.type(node.operands[0]).shape.back() > widest ||
      graph.type(node.operands[2]).shape.back() > widest)
    return not_for(region, format("takes heads of at most {} features", widest));
  for (ValueId operand : node.operands)
    if (operand != ValueId::none && graph.type(operand).elements() == 0)
      return not_for(region, "attends to something");
  const int64_t shared = shared_memory::flash_attention(graph.type(node.operands[0]).shape.back(),
                                                        graph.type(node.operands[2]).shape.back()) +
                         shared_memory::declared;
  if (shared > context.gpu.shared_per_block)
    return not_for(region, format("needs {} bytes of shared memory, and a block of {} has {}", shared,
                                  context.gpu.name, context.gpu.shared_per_block));
  return {};
}

Result<RegionCode> write_attention_flash(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, attention_ops));
  STITCH_TRY(Attention a, attention_of(request, parts));
  return write_heads(request, a, parts, "attention_flash.h", "enqueue_flash",
                     "Online softmax over tiles of 64 keys, FP32 on the CUDA cores.", "");
}

}  // namespace

constinit const ProductTechnique attention_flash{{
    .name = "attention.flash",
    .idea = "online softmax over tiles of keys",
    .kind = plan::Kind::attention,
    .accepts = accepts_attention_flash,
    .write = write_attention_flash,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.5 * context.gpu.fp32, 0.7, 1};
    },
}};

}  // namespace stitch::code
