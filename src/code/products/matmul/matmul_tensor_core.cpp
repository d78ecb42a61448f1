// matmul.tensor_core: an FP32 product on tensor cores at FP32 accuracy, each number as two of TF32, in one
// kernel (kernels/matmul_tensor_core.h): any strides and batches, with the epilogue. No splitting pass as in
// matmul.split_half and no pass over the result as after a library: for products bound by their bytes.
// cuBLASLt takes 3.4 times as long as these for 2048 x 100 rows of 512 numbers times 48 columns, and 4 times
// for 16384 products of 3 x 3 by 3 x 1024 (H200). Chosen for batches of small products and for few columns or
// rows. Knobs: row_tiles, column_tiles, stages.
#include <algorithm>
#include <array>
#include <cmath>

#include "code/names.h"
#include "code/products/kernel_region.h"
#include "code/products/matmul/library_product.h"
#include "code/products/matmul/product_size.h"
#include "code/products/techniques.h"
#include "plan/cost/estimate.h"
#include "program/include/stitch/kernels/shared_memory.h"

namespace stitch::code {

namespace {

constexpr std::array contractions = {Op::linear, Op::matmul, Op::einsum};

// As in the kernel.
struct ProductTiles {
  int64_t warp_rows = 4, warp_columns = 1, row_tiles = 1, column_tiles = 1, depth_tile = 32, stages = 1;
  int64_t rows() const { return 16 * row_tiles * warp_rows; }
  int64_t columns() const { return 8 * column_tiles * warp_columns; }
};

struct Extents {
  int64_t batches, rows, columns, depth;
  explicit Extents(const Contraction& c)
      : batches(extent(c.batch)), rows(extent(c.rows)), columns(extent(c.columns)), depth(extent(c.depth)) {}
  double blocks(const ProductTiles& tiles) const {
    return static_cast<double>(batches) * static_cast<double>(shared_memory::divided_up(rows, tiles.rows())) *
           static_cast<double>(shared_memory::divided_up(columns, tiles.columns()));
  }
};

// Time on tensor cores, and of both sides' tiles from L2. Guesses, except for the first: mma.sync has about
// half the rate that libraries reach with wgmma. Sides loaded and split for few sums cost more than the sums.
double seconds_of(const GpuSpec& gpu, const Extents& size, const ProductTiles& tiles) {
  constexpr double of_tensor_cores = 0.48, of_l2 = 1.4, load = 0.25, exposed = 0.2;
  const auto row_tiles = static_cast<double>(tiles.row_tiles),
             column_tiles = static_cast<double>(tiles.column_tiles);
  const double sums = row_tiles * column_tiles,
               busy = std::max(sums, load * (4 * row_tiles + 2 * column_tiles)) / sums;
  const double blocks = size.blocks(tiles),
               depth = static_cast<double>(shared_memory::rounded_up(size.depth, 8));
  const double operations =
      6 * blocks * static_cast<double>(tiles.rows()) * static_cast<double>(tiles.columns()) * depth;
  const double moved =
      4 * blocks * static_cast<double>(size.depth) *
      static_cast<double>(std::min(tiles.rows(), size.rows) + std::min(tiles.columns(), size.columns));
  const double filled = std::min(1.0, blocks / (2.0 * gpu.sms));
  const double multiplied = busy * operations / (of_tensor_cores * gpu.tensor_tf32),
               loaded = moved / (of_l2 * gpu.bandwidth);
  return (std::max(multiplied, loaded) + exposed * std::min(multiplied, loaded)) / filled;
}

ProductTiles best_tiles(const GpuSpec& gpu, const plan::Region& region, const Extents& size) {
  constexpr int64_t most_sums = 12;  // per warp: twice 48 registers, when sums are folded
  ProductTiles best;
  double least = INFINITY;
  for (auto [warp_rows, warp_columns] : {std::pair{4, 1}, {2, 2}, {1, 4}})
    for (int64_t row_tiles : {2, 1})
      for (int64_t column_tiles = 8; column_tiles >= 1; --column_tiles) {
        if (row_tiles * column_tiles > most_sums) continue;
        ProductTiles tiles{.warp_rows = warp_rows,
                           .warp_columns = warp_columns,
                           .row_tiles = region.choice("row_tiles", row_tiles),
                           .column_tiles = region.choice("column_tiles", column_tiles)};
        if (const double seconds = seconds_of(gpu, size, tiles); seconds < least)
          least = seconds, best = tiles;
      }
  // Short sums are loaded at once; for long ones two tiles are in flight while a third is multiplied.
  constexpr int64_t at_once = 64;
  if (size.depth <= at_once)
    best.depth_tile = shared_memory::rounded_up(std::max<int64_t>(size.depth, 1), 8);
  else
    best.stages = region.choice("stages", 3);
  return best;
}

struct TensorCoreRegion {
  Parts parts;
  Products all;
};
Result<TensorCoreRegion> tensor_core_region(const RegionRequest& request) {
  TensorCoreRegion out;
  STITCH_TRY(out.parts, parts_of(request.graph, request.region, contractions));
  STITCH_TRY(out.all, products_of(request, out.parts));
  if (out.all.steps.size() != 1 || !out.all.steps[0].has_right())
    return not_for(request.region, "takes one product of two operands");
  return out;
}

Result<void> accepts_matmul_tensor_core(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, contractions));
  const Node& node = *parts.product;
  if (node.operands.size() < 2) return not_for(region, "takes one product of two operands");
  for (ValueId id : {node.operands[0], node.operands[1], node.results[0]})
    if (graph.type(id).dtype != DType::f32) return not_for(region, "multiplies f32");
  if (graph.type(node.results[0]).elements() == 0) return not_for(region, "has a result");
  STITCH_CHECK(accepts_views(graph, region, parts));
  STITCH_TRY(TensorCoreRegion made, tensor_core_region(request_alone(context, region)));
  const Extents size(made.all.steps[0]);
  const ProductTiles tiles = best_tiles(context.gpu, region, size);
  if (size.depth == 0) return not_for(region, "sums something");
  if (size.blocks(tiles) >= 0x7fffffff) return not_for(region, "has no grid for so many tiles");
  if (shared_memory::tensor_core_product(tiles.rows(), tiles.columns(), tiles.depth_tile, true, true,
                                         tiles.stages) +
          shared_memory::declared >
      context.gpu.shared_per_block)
    return not_for(region, format("needs more shared memory than a block of {} has", context.gpu.name));
  return {};
}

Result<void> accepts_storage_matmul_tensor_core(const plan::Context& context, const plan::Plan& plan,
                                                const plan::Region& region) {
  for (const auto& ids : {region.reads, region.writes})
    for (ValueId id : ids)
      if (plan.storage[index_of(id)].dtype != context.graph.type(id).dtype)
        return not_for(region, "reads and writes f32 only");
  return {};
}

// Bound by bytes: if arithmetic dominates, libraries have wgmma, on fp16 parts.
bool suits_matmul_tensor_core(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  if (context.numerics != Numerics::strict && context.numerics != Numerics::standard) return false;
  const std::optional<ProductSize> size = product_size(context.graph, region);
  auto made = tensor_core_region(request_alone(context, region));
  if (!size || !made) return false;
  const GpuSpec& gpu = context.gpu;
  const Extents extents(made->all.steps[0]);
  constexpr int64_t few = 96;
  constexpr double worth_it = 4e-6;  // below, launches dominate
  const ProductTiles tiles = best_tiles(gpu, region, extents);
  if (extents.batches == 1 && std::min(extents.rows, extents.columns) > few) return false;
  if (extents.blocks(tiles) < 4.0 * gpu.sms) return false;  // libraries split the depth
  const double bytes =
      4 * (size->left + size->right + size->result) / (plan::streaming_share * gpu.bandwidth);
  const double own = std::max(bytes, seconds_of(gpu, extents, tiles));
  return bytes >= worth_it && own <= 1.05 * std::min(fp32_seconds(gpu, *size), split_seconds(gpu, *size));
}

Result<RegionCode> write_matmul_tensor_core(const RegionRequest& request) {
  STITCH_TRY(TensorCoreRegion made, tensor_core_region(request));
  const Contraction& c = made.all.steps[0];
  const Place &left = *c.left.place, &right = *c.right.place, &out = *c.out.place;
  for (const Place* place : {&left, &right, &out})
    if (place->dtype != DType::f32) return not_for(request.region, "reads and writes f32 only");
  const Shape& result = request.graph.type(made.parts.product->results[0]).shape;
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, made.parts, result.empty() ? 0 : result.size() - 1));
  STITCH_TRY(const TensorCoreRegion decided, tensor_core_region(request.deciding()));
  const ProductTiles tiles = best_tiles(request.context.gpu, request.region, Extents(decided.all.steps[0]));
  auto quads = [&](int64_t Axis::*tensor, const Axes& side, int64_t offset) {
    return lies_in_quads(c, lies_by_depth(c.depth, side, tensor) ? c.depth : side, tensor, offset);
  };

  const std::string product = type_name(request.name, "Product"), name = type_name(request.name, "Tiles");
  return write_kernel(
      request, out, epilogue,
      {.header = "matmul_tensor_core.h",
       .summary = describe(c),
       .idea = "In pairs of TF32 on tensor cores; kernels/matmul_tensor_core.h has the kernel.",
       .structs = format(
           "{}\nstruct {} {{\n  static constexpr int warp_rows = {}, warp_columns = {}, row_tiles = {}, "
           "column_tiles = {};\n  static constexpr int depth_tile = {}, stages = {};\n"
           "  static constexpr bool folds = {};\n  static constexpr bool left_quads = {}, right_quads = {}, "
           "out_pairs = {};\n}};\n\n",
           product_struct(c, product), name, tiles.warp_rows, tiles.warp_columns, tiles.row_tiles,
           tiles.column_tiles, tiles.depth_tile, tiles.stages,
           shared_memory::divided_up(extent(c.depth), tiles.depth_tile) > 256 / tiles.depth_tile,
           quads(&Axis::left, c.rows, c.left.offset), quads(&Axis::right, c.columns, c.right.offset),
           !c.scatter && lies_in_quads(c, c.columns, &Axis::out, c.out.offset, 2)),
       .reads = {&left, &right},
       .call = format("enqueue_tensor_core_product<{}>", name),
       .arguments = {product + "{}", left.pointer, right.pointer, out.pointer}});
}

}  // namespace

constinit const ProductTechnique matmul_tensor_core{{
    .name = "matmul.tensor_core",
    .idea = "FP32 products on tensor cores at FP32's accuracy, operands split while they are loaded, any "
            "strides",
    .kind = plan::Kind::product,
    .accepts = accepts_matmul_tensor_core,
    .write = write_matmul_tensor_core,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.15 * context.gpu.tensor_tf32, 0.75, 1};
    },
    .suits = suits_matmul_tensor_core,
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {{"row_tiles", "tiles of 16 rows per warp", {1, 2}},
              {"column_tiles", "tiles of 8 columns per warp", {1, 2, 3, 4, 6, 8}},
              {"stages", "pipeline stages of depth tiles in shared memory", {2, 3, 4}}};
    },
    .accepts_storage = accepts_storage_matmul_tensor_core,
}};

}  // namespace stitch::code
