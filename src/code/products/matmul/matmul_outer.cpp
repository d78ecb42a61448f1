// matmul.outer: a product of depth one, out (batch, row, column) = left (batch, row) · right (batch, column).
// Bound by writing the result once: one thread per element, adjacent along columns, with the epilogue. A
// library's tiles would be mostly empty. Exact in all classes. Chosen for every such product.
#include <array>

#include "code/names.h"
#include "code/products/matmul/library_product.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

constexpr std::array products = {Op::linear, Op::matmul};

Result<void> accepts_matmul_outer(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, products));
  const Node& node = *parts.product;
  if (graph.type(node.operands[0]).shape.back() != 1) return not_for(region, "takes products of depth one");
  constexpr int64_t most = int64_t{1} << 38;  // of a grid of blocks of 256
  const int64_t elements = graph.type(node.results[0]).elements();
  if (elements == 0 || elements >= most) return not_for(region, "has no grid for so many elements, or none");
  return accepts_views(graph, region, parts);
}

Result<RegionCode> write_matmul_outer(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, products));
  STITCH_TRY(Products all, products_of(request, parts));
  const Contraction& c = all.steps.back();
  const Shape& result = request.graph.type(parts.product->results[0]).shape;
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, result.size() - 1));
  const Place &left = *c.left.place, &right = *c.right.place, &out = *c.out.place;

  RegionCode code;
  code.includes = "#include \"stitch/kernels/matmul.h\"\n#include \"stitch/runtime/launch.h\"\n";
  Signature signature("enqueue_" + request.name);
  for (const Place* place : {&left, &right}) signature.read(*place);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration = signature.declaration();
  const std::string product = type_name(request.name, "Product"), kernel = request.name + "_outer";
  code.source = format("// {}\n// Nothing is summed: each thread writes one element.\n{}\n", describe(c),
                       product_struct(c, product));
  code.source += epilogue.text();
  code.source += format(
      "template <class Product, class Epilogue>\n"
      "__global__ void {0}(const typename Product::Left* left, const typename Product::Right* right,\n"
      "                    typename Product::Out* out, Epilogue epilogue, Product product) {{\n"
      "  stitch::wait_for_previous_kernel();\n"
      "  using Index = typename Product::Index;\n"
      "  using Sum = typename Product::Sum;\n"
      "  const Index element = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
      "  if (element >= product.batches * product.rows * product.columns) return;\n"
      "  const Index column = element % product.columns, row = element / product.columns % product.rows,\n"
      "              batch = element / (product.columns * product.rows);\n"
      "  const Sum value = static_cast<Sum>(left[product.left(batch, row, 0)]) *\n"
      "                    static_cast<Sum>(right[product.right(batch, 0, column)]);\n"
      "  out[product.out(batch, row, column)] =\n"
      "      static_cast<typename Product::Out>(epilogue(value, product.position(batch, row, column)));\n"
      "}}\n\n",
      kernel);
  constexpr int64_t threads = 256;
  const int64_t blocks = (extent(c.batch) * extent(c.rows) * extent(c.columns) + threads - 1) / threads;
  code.source += format(
      "{} {{\n  return stitch::launch(\"{}\", {}<{}, {}>, {{{}, {}}}, stream, {}, {}, {}, {}, {}{{}});\n}}\n",
      signature.head(), request.name, kernel, product, epilogue.type, blocks, threads, left.pointer,
      right.pointer, out.pointer, epilogue.construct, product);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace

constinit const ProductTechnique matmul_outer{{
    .name = "matmul.outer",
    .idea = "a product of depth one at the bandwidth of writing its result",
    .kind = plan::Kind::product,
    .accepts = accepts_matmul_outer,
    .write = write_matmul_outer,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return streaming_rate(context);
    },
}};

}  // namespace stitch::code
