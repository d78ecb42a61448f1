// grouped.tiled: products of groups from tiles in shared memory (kernels/matmul_grouped.h): each number that
// is read counts 32 or 128 times, where a thread an element reads it every time. Sums in FP32, any strides.
// Chosen for all products of groups of more than a few rows.
#include <array>

#include "code/names.h"
#include "code/products/epilogue.h"
#include "code/products/parts.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

constexpr std::array grouped_ops = {Op::grouped_matmul};

class MatmulGrouped final : public ProductTechnique {
 public:
  std::string_view name() const override { return "grouped.tiled"; }
  std::string_view idea() const override { return "products of groups from tiles in shared memory"; }
  plan::Kind kind() const override { return plan::Kind::loop; }
  bool suits(const plan::Context& context, const plan::Region& region, const plan::Offer&) const override {
    constexpr int64_t fewest_rows = 8;
    const auto parts = parts_of(context.graph, region, grouped_ops);
    return parts && context.graph.type(parts->product->results[0]).shape[0] >= fewest_rows;
  }
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {0.3 * context.gpu.fp32, 0.5, 1};
  }

 private:
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override;
};

}  // namespace

Result<void> MatmulGrouped::accepts_region(const plan::Context& context, const plan::Region& region) const {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, grouped_ops));
  const Node& node = *parts.product;
  const TensorType& out = graph.type(node.results[0]);
  if (!parts.after.empty()) return not_for(region, "has nothing behind its product");
  if (out.dtype == DType::f64 || graph.type(node.operands[0]).dtype != out.dtype ||
      graph.type(node.operands[1]).dtype != out.dtype)
    return not_for(region, "multiplies one type, of 32 bits or fewer");
  constexpr int64_t most_blocks = int64_t{1} << 30;
  if (out.elements() == 0 || out.elements() / 1024 >= most_blocks)
    return not_for(region, "has no grid for so many elements");
  return {};
}

Result<RegionCode> MatmulGrouped::write_region(const RegionRequest& request) const {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, grouped_ops));
  const Node& node = *parts.product;
  auto x = find_view(request, node.operands[0]), weight = find_view(request, node.operands[1]),
       offsets = find_view(request, node.operands[2]);
  STITCH_TRY(ResultPlace result, result_place(request, parts));
  if (!x || !weight || !offsets || result.scatter || x->offset != 0 || weight->offset != 0 ||
      !offsets->contiguous() || offsets->offset != 0 || result.view.offset != 0)
    return not_for(request.region, "can't read its operands where they lie");
  const Place &out = *result.view.place, &ends = *offsets->place;
  if (x->place->dtype != out.dtype || weight->place->dtype != out.dtype)
    return not_for(request.region, "multiplies one type");
  RegionCode code;
  code.includes = "#include \"stitch/kernels/matmul_grouped.h\"\n";
  Signature signature("enqueue_" + request.name);
  for (const Place* place : {x->place, weight->place, offsets->place}) signature.read(*place);
  signature.write(out);
  code.declaration = signature.declaration();
  const std::string name = type_name(request.name, "Groups");
  code.source = format(
      "// {} {} = {} {} · {} {}, a matrix a group\n"
      "// Tiles in shared memory, group by group; kernels/matmul_grouped.h has the kernel.\n"
      "struct {} {{\n  using Number = {};\n  using Offset = {};\n"
      "  static constexpr int64_t rows = {}, columns = {}, depth = {}, groups = {};\n",
      out.pointer, shape_comment(result.view.shape), x->place->pointer, shape_comment(x->shape),
      weight->place->pointer, shape_comment(weight->shape), name, element_type(out.dtype),
      element_type(ends.dtype), x->shape[0], weight->shape[2], x->shape[1], weight->shape[0]);
  code.source += format(
      "  static constexpr int64_t x_row = {}, x_step = {}, out_row = {}, out_column = {};\n"
      "  static constexpr int64_t weight_group = {}, weight_step = {}, weight_column = {};\n"
      "  static constexpr bool weight_by_depth = {};\n}};\n\n",
      x->strides[0], x->strides[1], result.view.strides[0], result.view.strides[1], weight->strides[0],
      weight->strides[1], weight->strides[2], weight->strides[1] < weight->strides[2]);
  code.source += format(
      "{} {{\n  return stitch::enqueue_grouped_matmul<{}>(\n      \"{}\", {}, {}, {}, {}, stream);\n}}\n",
      signature.head(), name, request.name, x->place->pointer, weight->place->pointer, ends.pointer,
      out.pointer);
  code.arguments = signature.arguments();
  return code;
}

const Technique& matmul_grouped() {
  static const MatmulGrouped technique;
  return technique;
}

}  // namespace stitch::code
