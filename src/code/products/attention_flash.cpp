// attention.flash: scores never reach memory (kernels/attention_flash.h): q and the result move once, k and v
// once for every 64 queries. FP32 on the CUDA cores, exact, any mask. Heads of at most 128 features. Chosen
// where tensor cores can't be used.
#include <array>

#include "base/text.h"
#include "code/products/attention.h"
#include "code/products/families.h"

namespace stitch::code {

namespace {

constexpr std::array attention_ops = {Op::attention};
constexpr int64_t widest = 128;

}  // namespace

Result<void> accepts_attention_flash(const Graph& graph, const plan::Region& region) {
  STITCH_TRY(Parts parts, parts_of(graph, region, attention_ops));
  const Node& node = *parts.product;
  if (graph.type(node.results[0]).dtype == DType::f64) return not_for(region, "sums in f32");
  if (graph.type(node.operands[0]).shape.back() > widest ||
      graph.type(node.operands[2]).shape.back() > widest)
    return not_for(region, format("takes heads of at most {} features", widest));
  for (ValueId operand : node.operands)
    if (operand != ValueId::none && graph.type(operand).elements() == 0)
      return not_for(region, "attends to something");
  return {};
}

Result<RegionCode> write_attention_flash(const RegionRequest& request) {
  STITCH_CHECK(accepts_attention_flash(request.graph, request.region));
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, attention_ops));
  STITCH_TRY(Attention a, attention_of(request, parts));
  return write_heads(request, a, parts, "attention_flash.h", "enqueue_flash",
                     "Online softmax over tiles of 64 keys, FP32 on the CUDA cores.", "");
}

}  // namespace stitch::code
