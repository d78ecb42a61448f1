// matmul.thin: a linear of 13 to 64 FP32 rows on tensor cores at FP32 accuracy, by three TF32 products
// (kernels/conv_pointwise_nhwc.h): a classifier on a few images. The weight is read in place, once per 32
// rows, and split in registers: no copy, no second pass for the epilogue. cuBLASLt's FP32 kernel and its sum
// of slices take 16 us for 16 rows of 960 numbers to 1280 on an H200; the weight's bytes take 1.2.
#include <array>

#include "code/loops/kernel.h"
#include "code/names.h"
#include "code/products/epilogue.h"
#include "code/products/convolution/nhwc_tiles.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "plan/constants.h"

namespace stitch::code {

namespace {

constexpr std::array linear_ops = {Op::linear};
constexpr int64_t fewest_rows = 13, most_rows = 64, fewest_columns = 64, least_depth = 128, most_depth = 8192;

class MatmulThin final : public ProductTechnique {
 public:
  std::string_view name() const override { return "matmul.thin"; }
  std::string_view idea() const override {
    return "FP32 products of 13 to 64 rows on tensor cores at FP32's accuracy, weights read without packing";
  }
  plan::Kind kind() const override { return plan::Kind::product; }
  // Larger weights fill a library's tiles.
  bool suits(const plan::Context& context, const plan::Region& region, const plan::Offer&) const override {
    constexpr int64_t most_weight = int64_t{4} << 20;
    const auto parts = parts_of(context.graph, region, linear_ops);
    return context.numerics != Numerics::half && parts &&
           context.graph.type(parts->product->operands[1]).elements() <= most_weight;
  }
  std::vector<plan::Knob> knobs(const plan::Context&, const plan::Region&) const override {
    return nhwc_knobs();
  }
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {0.15 * context.gpu.tensor_tf32 / 3, 0.6, 1};
  }

 private:
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override;
};

// Whether everything it reads and writes is dense f32 rows.
bool lies_densely(const RegionRequest& request, const Parts& parts) {
  auto dense = [](const View& view) {
    return view.contiguous() && view.offset == 0 && view.place->dtype == DType::f32;
  };
  const auto x = find_view(request, parts.product->operands[0]),
             weight = find_view(request, parts.product->operands[1]);
  const auto result = result_place(request, parts);
  return x && weight && result && dense(*x) && dense(*weight) && !result->scatter && dense(result->view);
}

}  // namespace

Result<void> MatmulThin::accepts_region(const plan::Context& context, const plan::Region& region) const {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, linear_ops));
  const Node& node = *parts.product;
  for (ValueId id : {node.operands[0], node.operands[1], node.results[0]})
    if (graph.type(id).dtype != DType::f32) return not_for(region, "multiplies f32");
  const Shape &weight = graph.type(node.operands[1]).shape, &out = graph.type(node.results[0]).shape;
  if (weight.size() != 2) return not_for(region, "takes a matrix as its weight");
  const int64_t columns = weight[0], depth = weight[1], rows = columns ? element_count(out) / columns : 0;
  if (rows < fewest_rows || rows > most_rows)
    return not_for(region, format("takes {} to {} rows", fewest_rows, most_rows));
  if (columns < fewest_columns || depth < least_depth || depth > most_depth || depth % 4 != 0)
    return not_for(region, format("takes {} columns or more, and {} to {} products a sum, by fours",
                                  fewest_columns, least_depth, most_depth));
  if (!lies_densely(loops::plain_request(context, region), parts))
    return not_for(region, "reads and writes dense matrices of f32");
  return {};
}

Result<RegionCode> MatmulThin::write_region(const RegionRequest& request) const {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, linear_ops));
  // Layouts are chosen later: for others, fall back to the plain product.
  if (!lies_densely(request, parts)) return matmul_plain().write(request);
  auto x = find_view(request, parts.product->operands[0]),
       weight = find_view(request, parts.product->operands[1]);
  STITCH_TRY(ResultPlace result, result_place(request, parts));
  const size_t last = request.graph.type(parts.product->results[0]).shape.size() - 1;
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, last));
  const int64_t columns = weight->shape[0], depth = weight->shape[1], rows = element_count(x->shape) / depth;
  const NhwcTiles tiles = nhwc_tiles(request.context, request.region, rows, depth, columns, DType::f32, true);
  const Place& out = *result.view.place;
  RegionCode code;
  code.includes = "#include \"stitch/kernels/conv_pointwise_nhwc.h\"\n";
  Signature signature("enqueue_" + request.name);
  signature.read(*x->place);
  signature.read(*weight->place);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration = signature.declaration();
  const std::string name = type_name(request.name, "Rows");
  code.source = format(
      "// {} {} = {} {} · {} {}{}{}\n"
      "// In pairs of TF32, the weight where it lies; kernels/conv_pointwise_nhwc.h has the kernel.\n"
      "struct {} {{\n  static constexpr int64_t pixels = {}, plane = 1;  // rows\n"
      "  static constexpr int channels = {}, filters = {};  // depth, columns\n"
      "  static constexpr int pixel_tiles = {}, filter_tiles = {}, depth_warps = {};\n"
      "  static constexpr bool x_nchw = false, out_nchw = false, raw_weights = true;\n}};\n\n",
      out.pointer, shape_comment({rows, columns}), x->place->pointer, shape_comment({rows, depth}),
      weight->place->pointer, shape_comment({columns, depth}), epilogue.summary.empty() ? "" : ", then ",
      epilogue.summary, name, rows, depth, columns, tiles.pixel_tiles, tiles.filter_tiles, tiles.depth_warps);
  if (!epilogue.empty()) code.source += epilogue.definition + "\n";
  code.source += format(
      "{} {{\n  return stitch::enqueue_thin_product<{}>(\n      \"{}\", {}, {}, {}, {}, stream);\n}}\n",
      signature.head(), name, request.name, x->place->pointer, weight->place->pointer, out.pointer,
      epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

const Technique& matmul_thin() {
  static const MatmulThin technique;
  return technique;
}

}  // namespace stitch::code
