// matmul.thin: a linear of 13 to 64 FP32 rows on tensor cores at FP32 accuracy, by three TF32 products
// (kernels/conv_pointwise_nhwc.h): a classifier on a few images. The weight is read in place, once per 32
// rows, and split in registers: no copy, no second pass for the epilogue. cuBLASLt's FP32 kernel and its sum
// of slices take 16 us for 16 rows of 960 numbers to 1280 on an H200; the weight's bytes take 1.2.
#include <array>

#include "code/names.h"
#include "code/products/convolution/tiles.h"
#include "code/products/kernel_region.h"
#include "code/products/techniques.h"
#include "plan/constants.h"

namespace stitch::code {

namespace {

constexpr std::array linear_ops = {Op::linear};
constexpr int64_t fewest_rows = 13, most_rows = 64, fewest_columns = 64, least_depth = 128, most_depth = 8192;

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

Result<void> accepts_matmul_thin(const plan::Context& context, const plan::Region& region) {
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
  if (!lies_densely(request_alone(context, region), parts))
    return not_for(region, "reads and writes dense matrices of f32");
  return {};
}

Result<RegionCode> write_matmul_thin(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, linear_ops));
  if (!lies_densely(request, parts)) return not_for(request.region, "reads and writes dense matrices of f32");
  auto x = find_view(request, parts.product->operands[0]),
       weight = find_view(request, parts.product->operands[1]);
  STITCH_TRY(ResultPlace result, result_place(request, parts));
  const size_t last = request.graph.type(parts.product->results[0]).shape.size() - 1;
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, last));
  const int64_t columns = weight->shape[0], depth = weight->shape[1], rows = element_count(x->shape) / depth;
  const NhwcTiles tiles = nhwc_tiles(request.context, request.region, rows, depth, columns, DType::f32, true);
  const Place& out = *result.view.place;
  const std::string name = type_name(request.name, "Rows");
  return write_kernel(
      request, out, epilogue,
      {.header = "conv_pointwise_nhwc.h",
       .summary =
           format("{} {} = {} {} · {} {}", out.pointer, shape_comment({rows, columns}), x->place->pointer,
                  shape_comment({rows, depth}), weight->place->pointer, shape_comment({columns, depth})),
       .idea = "In pairs of TF32, the weight where it lies; kernels/conv_pointwise_nhwc.h has the kernel.",
       .structs = format(
           "struct {} {{\n  using Index = int;\n  static constexpr int64_t pixels = {}, plane = 1;  // rows\n"
           "  static constexpr int channels = {}, filters = {};  // depth, columns\n"
           "  static constexpr int pixel_tiles = {}, filter_tiles = {}, depth_warps = {}, "
           "multiprocessors = {};\n"
           "  static constexpr bool x_nchw = false, out_nchw = false, raw_weights = true;\n}};\n\n",
           name, rows, depth, columns, tiles.pixel_tiles, tiles.filter_tiles, tiles.depth_warps,
           request.context.gpu.sms),
       .reads = {x->place, weight->place},
       .call = "enqueue_thin_product",
       .arguments = {name + "{}", x->place->pointer, weight->place->pointer, out.pointer}});
}

}  // namespace

constinit const ProductTechnique matmul_thin{{
    .name = "matmul.thin",
    .idea = "FP32 products of 13 to 64 rows on tensor cores at FP32's accuracy, weights read without packing",
    .kind = plan::Kind::product,
    .accepts = accepts_matmul_thin,
    .write = write_matmul_thin,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.15 * context.gpu.tensor_tf32 / 3, 0.6, 1};
    },
    // Larger weights fill a library's tiles.
    .suits =
        [](const plan::Context& context, const plan::Region& region, const plan::Offer&) {
          constexpr int64_t most_weight = int64_t{4} << 20;
          const auto parts = parts_of(context.graph, region, linear_ops);
          return context.numerics != Numerics::half && parts &&
                 context.graph.type(parts->product->operands[1]).elements() <= most_weight;
        },
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return nhwc_knobs();
    },
}};

}  // namespace stitch::code
