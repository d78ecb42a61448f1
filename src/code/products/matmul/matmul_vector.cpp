// matmul.vector: a product with at most 12 rows or columns, or at most 6 in fp16 or bf16, bound by its bytes
// (kernels/matmul_vector.h). At most 2·12 FLOP per element: far below the CUDA cores' rate. Chosen for matrix
// times one or a few vectors with long sums; a library's tiles would be mostly empty. Exact in all classes.
#include <algorithm>

#include "code/names.h"
#include "code/products/matmul/library_product.h"
#include "code/products/matmul/product_size.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

constexpr int64_t most_thin = 12, most_thin_of_halves = 6;  // shared memory of one block

int64_t rows_together(int64_t thin) { return thin <= 4 ? 4 : 2; }

// Blocks for a few waves, segments long enough to be worth a block.
int64_t segment_depth(const GpuSpec& gpu, const Contraction& c, int64_t wide, int64_t thin,
                      bool depth_inside) {
  int64_t depth = extent(c.depth);
  int64_t together = !depth_inside ? 32 * 16 / size_of(c.left.place->dtype) : rows_together(thin);
  int64_t groups = (wide + together - 1) / together * extent(c.batch);
  int64_t least = depth_inside ? 2048 : 64, most = depth_inside ? 8192 : 1024;
  int64_t segments = std::max<int64_t>((8 * gpu.sms + groups - 1) / groups, depth / most);
  // A second pass is another launch, which matters in a decoding step: two microseconds, in which an H200
  // reads 8 MB. With 16-bit numbers a thread has twice as many in flight.
  const bool many = groups >= 2 * gpu.sms,
             is_short = depth_inside && groups >= gpu.sms && depth <= (many ? 8192 : 4096);
  if (is_short || (many && size_of(c.left.place->dtype) == 2)) segments = 1;
  int64_t step = depth_inside ? 1024 : 8;
  int64_t each = std::max((depth + segments - 1) / segments, least);
  return (each + step - 1) / step * step;
}

Result<void> accepts_matmul_vector(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_CHECK(accepts_library_product(graph, region));
  const Node* product = nullptr;
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    if (node.op == Op::linear || node.op == Op::matmul) product = &node;
  }
  if (!product) return not_for(region, "takes linear and matmul only");
  const DType dtype = graph.type(product->results[0]).dtype;
  for (size_t i = 0; i < 2; ++i)
    if (graph.type(product->operands[i]).dtype != dtype) return not_for(region, "multiplies one type only");
  auto elements = [&](ValueId id) { return graph.type(id).elements(); };
  int64_t left = elements(product->operands[0]), right = elements(product->operands[1]),
          result = elements(product->results[0]);
  // As in contract(): a batch dimension that one side lacks is rows or columns of the other.
  int64_t depth = graph.type(product->operands[0]).shape.back();
  int64_t multiplications = result * depth;
  int64_t rows = multiplications / right, columns = multiplications / left;
  const int64_t most = dtype == DType::f32 ? most_thin : most_thin_of_halves;
  if (std::min(rows, columns) > most || depth < 128)
    return not_for(region, format("takes at most {} rows or columns and sums of 128 or more", most));
  return {};
}

Result<RegionCode> write_matmul_vector(const RegionRequest& request) {
  const Node& node = request.graph.node(request.region.nodes.back());
  const DType dtype = request.graph.type(node.results[0]).dtype;
  STITCH_TRY(LibraryProduct made, library_product(request, dtype, false));
  const Contraction& c = made.contraction;
  for (const View* view : {&c.left, &c.right, &c.out})
    if (view->place->dtype != dtype)
      return not_for(request.region, format("reads and writes {} only", stitch::name(dtype)));
  const int64_t run = 16 / size_of(dtype);
  bool thin_rows = made.rows() <= made.columns();
  int64_t thin = std::min(made.rows(), made.columns()), wide = std::max(made.rows(), made.columns());
  if (thin > (dtype == DType::f32 ? most_thin : most_thin_of_halves))
    return not_for(request.region, "takes thin products only");
  int64_t Axis::*of_wide = thin_rows ? &Axis::right : &Axis::left;
  int64_t Axis::*of_thin = thin_rows ? &Axis::left : &Axis::right;
  const Axes& side = thin_rows ? c.columns : c.rows;
  bool depth_inside = side.empty() || (!c.depth.empty() && c.depth.back().*of_wide <= side.back().*of_wide);
  bool quads =
      lies_in_quads(c, depth_inside ? c.depth : side, of_wide, (thin_rows ? c.right : c.left).offset, run);
  if (depth_inside)
    quads = quads && lies_in_quads(c, c.depth, of_thin, (thin_rows ? c.left : c.right).offset, run);
  int64_t segment = segment_depth(request.context.gpu, c, wide, thin, depth_inside);
  int64_t segments = (made.depth() + segment - 1) / segment;

  const int64_t together = rows_together(thin);
  const int teams = vector_teams(request.context.gpu, std::min(segment, made.depth()), size_of(dtype),
                                 (wide + together - 1) / together * made.batches() * segments);

  made.code.includes = "#include \"stitch/kernels/matmul_vector.h\"\n";
  made.code.libraries.clear();
  made.signature.read(*c.left.place);
  made.signature.read(*c.right.place);
  std::string partial = "nullptr";
  if (segments > 1) {
    partial = "partial";
    Shape shape{segments, made.batches(), made.rows(), made.columns()};
    made.reserve(partial, "float", element_count(shape), shape_comment(shape));
  }
  made.body += format(
      "  return stitch::enqueue_vector_product<{}, {}, {}, {}, {}, {}, {}>(\n      \"{}\", {}{{}}, {}, {}, "
      "{}, "
      "{}, {}, stream);\n",
      thin_rows, thin, depth_inside, segment, segments, teams, quads, request.name, made.product,
      c.left.place->pointer, c.right.place->pointer, partial, c.out.place->pointer, made.epilogue.construct);
  return made.finish_own("The wide matrix is read once; kernels/matmul_vector.h has the kernel.");
}

}  // namespace

constinit const ProductTechnique matmul_vector{{
    .name = "matmul.vector",
    .idea = "a matrix times one to twelve vectors at memory bandwidth",
    .kind = plan::Kind::product,
    .accepts = accepts_matmul_vector,
    .write = write_matmul_vector,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return streaming_rate(context);
    },
}};

}  // namespace stitch::code
