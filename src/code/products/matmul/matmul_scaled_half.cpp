// matmul.scaled_half: an FP32 product of operands rounded to fp16, in class tf32 (kernels/split_half.h with
// one part): TF32's ten bits at up to 757 TFLOP/s on an H200, where TF32 has 383. Each operand has a power of
// two as its scale, so that nothing overflows and what is down to 2^-12 of the largest keeps ten bits.
// Weights are packed once, activations converted on every run (6 bytes per element) unless the plan stores
// them in fp16. Sums are as long as the depth: truncation is half of TF32's, which tensor cores sum in steps
// half as deep. Chosen where conversions take less time than the product saves.
#include "code/names.h"
#include "code/products/matmul/half_operands.h"
#include "code/products/matmul/product_size.h"
#include "code/products/techniques.h"
#include "plan/cost/estimate.h"

namespace stitch::code {

namespace {

bool suits_matmul_scaled_half(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  if (context.numerics != Numerics::tf32) return false;
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size || (size->left_is_weight && size->right_is_weight)) return false;
  return rounded_seconds(context.gpu, *size) <= 0.95 * tf32_seconds(context.gpu, *size);
}

// An operand may be stored in fp16 where the other is a weight, or stored so, too.
Result<void> reads_f32_or_half_operands(const plan::Context& context, const plan::Plan& plan,
                                        const plan::Region& region) {
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size) return not_for(region, "multiplies two operands");
  auto stored = [&](ValueId id) { return plan.storage[index_of(id)].dtype; };
  const bool left = stored(size->left_source) == DType::f16, right = stored(size->right_source) == DType::f16;
  if (!left && !right) return reads_f32(context, plan, region);
  if (!(left || size->left_is_weight) || !(right || size->right_is_weight))
    return not_for(region, "multiplies what is stored in fp16 with a weight, or with its like");
  for (ValueId id : region.reads)
    if (id != size->left_source && id != size->right_source && stored(id) != DType::f32)
      return not_for(region, "reads f32 beside its operands");
  return {};
}

// Operands of the library's kernel have two bytes, weights and activations.
std::optional<double> bytes_of_kernel(const plan::Context& context, const plan::Region& region) {
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size) return std::nullopt;
  double bytes = 2 * (size->left + size->right) + 4 * size->result;
  for (ValueId id : region.reads)
    if (id != size->left_source && id != size->right_source)
      bytes += 4 * static_cast<double>(context.graph.type(id).elements());
  return bytes;
}

// What is converted on every run. `plan`: some of it may be stored in fp16.
struct Converted {
  double elements = 0;
  int operands = 0;
};
Converted converted(const plan::Context& context, const plan::Plan* plan, const plan::Region& region) {
  Converted out;
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size) return out;
  auto add = [&](bool weight, ValueId source, double elements) {
    if (weight || (plan && plan->storage[index_of(source)].dtype == DType::f16)) return;
    out.elements += elements;
    ++out.operands;
  };
  add(size->left_is_weight, size->left_source, size->left);
  add(size->right_is_weight, size->right_source, size->right);
  return out;
}

// Two launches for each operand count as the bytes that could be moved meanwhile.
double converted_bytes(const plan::Context& context, const plan::Plan& plan, const plan::Region& region) {
  const Converted all = converted(context, &plan, region);
  return 6 * all.elements +
         2 * all.operands * context.gpu.kernel_overhead * plan::streaming_share * context.gpu.bandwidth;
}

Result<RegionCode> write_matmul_scaled_half(const RegionRequest& request) {
  STITCH_TRY(LibraryProduct made, library_product(request, DType::f16, false));
  const int64_t depth = rounded_up(made.depth(), 8);
  STITCH_TRY(HalfOperands operands, half_operands(made, 1, depth, depth));
  fill_up(made, operands);
  write_conversions(made, operands);
  const auto& [left, right, factors, scale] = operands;

  std::string spec = format("{{\n  stitch::MatmulSpec spec{{{}, {}, {}}};  // rows, columns, depth\n",
                            left.filled_side, right.filled_side, depth);
  const int64_t batches = made.batches();
  if (batches > 1) spec += format("  spec.batch = {};\n", batches);
  for (const HalfOperand* side : {&left, &right})
    spec += side->matrix_spec(batches > 1 ? side->elements() : 0);
  spec += "  spec.type = CUDA_R_16F;\n" + made.result_spec();
  const std::string member = request.name + "_matmul";
  spec += proposal_spec(made.code, request.region, member) + scale;
  if (!factors.empty()) spec += format("  spec.factors = {}->first;\n", factors);
  spec += format("  STITCH_OK_OR_RETURN({}.create({}, spec));\n}}", member, request.cublas);
  made.code.members.push_back({"stitch::Matmul", member, spec, made.kept_weights()});
  made.signature.member(made.code.members.back());
  made.body += format("  STITCH_OK_OR_RETURN({}.enqueue({}, {}, {}, stream));\n", member, left.pointer,
                      right.pointer, made.result_pointer());
  return made.finish("Each side scaled and rounded to fp16, one product on tensor cores with FP32 sums.");
}

}  // namespace

constinit const ProductTechnique matmul_scaled_half{{
    .name = "matmul.scaled_half",
    .idea = "FP32 products on fp16 tensor cores, operands scaled and rounded to TF32's ten bits",
    .kind = plan::Kind::product,
    .entry = plan::Entry::approximate,
    .accepts = [](const plan::Context& context,
                  const plan::Region& region) { return accepts_f32_product(context.graph, region); },
    .write = write_matmul_scaled_half,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {context.gpu.fp16_long_products, 0.8, 1};
    },
    .suits = suits_matmul_scaled_half,
    .knobs = [](const plan::Context& context, const plan::Region&) -> std::vector<plan::Knob> {
      return {conversion_blocks_knob(context.gpu), proposal_knob()};
    },
    .accepts_storage = reads_f32_or_half_operands,
    .scratch_bytes =
        [](const plan::Context& context, const plan::Region& region) {
          return 2 * converted(context, nullptr, region).elements;
        },
    .kernel_bytes = bytes_of_kernel,
    .rearranged_bytes = converted_bytes,
    .operand_precision = [](const plan::Context&, const plan::Region&) { return plan::Precision::tf32; },
}};

}  // namespace stitch::code
