// matmul.long: an FP32 product with few results and long sums on fp16 tensor cores at FP32 accuracy, both
// sides split on their way into shared memory (kernels/matmul_long.h): one segment of the depth per block,
// summed by the finishing pass. matmul.split_half reads and writes both sides once more, which is most of its
// work here. Knob: segments. Chosen where the depth is far larger than both sides.
#include <algorithm>
#include <cmath>

#include "code/names.h"
#include "code/products/matmul/library_product.h"
#include "code/products/matmul/product_size.h"
#include "code/products/techniques.h"
#include "plan/cost/estimate.h"

namespace stitch::code {

namespace {

// As in the kernel.
constexpr int64_t long_tile = 128, long_depth_tile = 32, shortest_long_sum = 256, most_segments = 1024;
constexpr int64_t long_shared_bytes = 2 * 2 * 2 * 2 * long_tile * (long_depth_tile + 8);

int64_t tiles_along(int64_t count) { return (count + long_tile - 1) / long_tile; }

// One block per multiprocessor: its sums take all registers.
int64_t segment_of(const LibraryProduct& made) {
  const int64_t tiles = made.batches() * tiles_along(made.rows()) * tiles_along(made.columns());
  const int64_t wave = std::max<int64_t>(1, made.request.context.gpu.sms / tiles);
  const int64_t segments =
      std::clamp<int64_t>(made.request.region.choice("segments", wave), 1, most_segments);
  const int64_t depth = (made.depth() + segments - 1) / segments;
  return (depth + long_depth_tile - 1) / long_depth_tile * long_depth_tile;
}

Result<void> accepts_matmul_long(const plan::Context& context, const plan::Region& region) {
  STITCH_CHECK(accepts_f32_product(context.graph, region));
  const RegionRequest request = request_alone(context, region);
  STITCH_TRY(LibraryProduct made, library_product(request, DType::f32, false));
  if (made.depth() < shortest_long_sum)
    return not_for(region, format("makes sums of {} products and more", shortest_long_sum));
  if (!lies_by_depth(made.contraction.depth, made.contraction.rows, &Axis::left))
    return not_for(region, "reads the left side along the depth");
  if (long_shared_bytes > context.gpu.shared_per_block)
    return not_for(region, format("needs more shared memory than a block of {} has", context.gpu.name));
  return {};
}

bool suits_matmul_long(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  if (context.numerics != Numerics::strict && context.numerics != Numerics::standard) return false;
  const std::optional<ProductSize> size = product_size(context.graph, region);
  constexpr double narrowest = 64, least = 16384;
  if (!size || size->left_is_weight || size->right_is_weight || size->depth() < least ||
      std::min(size->rows(), size->columns()) < narrowest)
    return false;
  const GpuSpec& gpu = context.gpu;
  const double batches = size->result / size->rows() / size->columns();
  const double high = std::ceil(size->rows() / long_tile), wide = std::ceil(size->columns() / long_tile);
  if (batches * high * wide > gpu.sms) return false;
  // mma.sync reaches about half of the libraries' rate; sides come from L2 once per tile of the other.
  constexpr double of_tensor_cores = 0.4, of_l2 = 1.2;
  const double multiplied =
      6 * batches * high * wide * long_tile * long_tile * size->depth() / (of_tensor_cores * gpu.tensor_fp16);
  const double bytes = 4 * (size->left + size->right) / (plan::streaming_share * gpu.bandwidth),
               loaded = 4 * (size->left * wide + size->right * high) / (of_l2 * gpu.bandwidth);
  const double own = std::max({multiplied, bytes, loaded}) + 2 * gpu.kernel_overhead;
  return own <= 0.9 * std::min(fp32_seconds(gpu, *size), split_seconds(gpu, *size));
}

Result<RegionCode> write_matmul_long(const RegionRequest& request) {
  STITCH_TRY(LibraryProduct made, library_product(request, DType::f32, false));
  const Contraction& c = made.contraction;
  for (const View* view : {&c.left, &c.right})
    if (view->place->dtype != DType::f32) return not_for(request.region, "reads f32 only");
  if (!lies_by_depth(c.depth, c.rows, &Axis::left))
    return not_for(request.region, "reads the left side along the depth");
  const int64_t segment = segment_of(made), segments = (made.depth() + segment - 1) / segment;
  made.code.libraries.clear();
  made.code.includes =
      "#include \"stitch/kernels/matmul_arrange.h\"\n#include \"stitch/kernels/matmul_long.h\"\n";
  made.add_up(segments);
  made.reserve_result();
  for (const View* view : {&c.left, &c.right}) made.signature.read(*view->place);
  auto quads = [&](int64_t Axis::*tensor, const Axes& side, int64_t offset) {
    return lies_in_quads(c, lies_by_depth(c.depth, side, tensor) ? c.depth : side, tensor, offset);
  };
  const std::string form = type_name(request.name, "Long");
  made.definitions = format(
      "struct {} {{\n  static constexpr int64_t segment = {};  // of the depth\n"
      "  static constexpr bool left_quads = {}, right_quads = {};\n}};\n\n",
      form, segment, quads(&Axis::left, c.rows, c.left.offset),
      quads(&Axis::right, c.columns, c.right.offset));
  made.body += format(
      "  STITCH_OK_OR_RETURN(stitch::enqueue_long_sums<{}>(\n      \"{}\", {}{{}}, {}, {}, dense_result, "
      "stream));\n",
      form, request.name, made.product, c.left.place->pointer, c.right.place->pointer);
  return made.finish(
      format("Split into fp16 on the way to tensor cores, {} segments of the depth.", segments));
}

}  // namespace

constinit const ProductTechnique matmul_long{{
    .name = "matmul.long",
    .idea = "few long FP32 sums on fp16 tensor cores, operands split while they are loaded",
    .kind = plan::Kind::product,
    .accepts = accepts_matmul_long,
    .write = write_matmul_long,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.4 * context.gpu.tensor_fp16 / 3, 0.7, 2};
    },
    .suits = suits_matmul_long,
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {{"segments", "parts of the depth (split-K), one block each", {8, 16, 32, 64, 128}}};
    },
    .accepts_storage = reads_f32,
}};

}  // namespace stitch::code
