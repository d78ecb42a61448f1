// matmul.plain: any linear, matmul or einsum, of any types and strides, by a tiled kernel on the CUDA cores
// (kernels/matmul.h). 2·rows·columns·depth FLOP; left is read columns/64 times and right rows/64 times. The
// fallback.
#include <array>

#include "base/text.h"
#include "code/names.h"
#include "code/products/matmul/library_product.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

constexpr std::array matrix_products = {Op::linear, Op::matmul, Op::einsum};

// int if possible: 64-bit divisions are several times slower.
bool fits_int(const Contraction& contraction) {
  constexpr int64_t most = int64_t{1} << 30;
  for (int64_t Axis::*tensor : {&Axis::left, &Axis::right, &Axis::out, &Axis::position})
    if (index_in(contraction, tensor).most() >= most) return false;
  for (const Axes* axes : {&contraction.batch, &contraction.rows, &contraction.columns, &contraction.depth})
    if (extent(*axes) >= most) return false;
  // Dense copies of both sides are counted in as many bits.
  const int64_t batches = extent(contraction.batch), depth = extent(contraction.depth);
  return batches * extent(contraction.rows) * depth < 2 * most &&
         batches * extent(contraction.columns) * depth < 2 * most;
}

std::string matrix_index_function(std::string_view name, const std::array<const char*, 3>& variables,
                                  const Index& index) {
  std::vector<std::string> parameters;
  for (const char* variable : variables)
    parameters.push_back(index.appears(variable) ? format("Index {}", variable) : "Index");
  return format("  __device__ static Index {}({}) {{ return {}; }}\n", name, join(parameters, ", "),
                index.text());
}

}  // namespace

bool lies_by_depth(const Axes& depth, const Axes& side, int64_t Axis::*tensor) {
  if (depth.empty()) return false;
  return side.empty() || depth.back().*tensor <= side.back().*tensor;
}

std::string product_struct(const Contraction& c, const std::string& name) {
  DType dtype = c.out.place->dtype;
  DType widest = dtype;
  for (const View* view : {&c.left, &c.right})
    if (view->place && size_of(view->place->dtype) > size_of(widest)) widest = view->place->dtype;
  std::string_view right =
      c.has_right() ? element_type(c.right.place->dtype) : element_type(c.left.place->dtype);
  std::string out = format("struct {} {{  // {}\n", name, describe(c));
  out += format(
      "  using Left = {};\n  using Right = {};\n  using Out = {};\n  using Sum = {};\n  using Index = {};\n",
      element_type(c.left.place->dtype), right, element_type(dtype),
      arithmetic_type(is_floating(dtype) ? widest : dtype), fits_int(c) ? "int" : "int64_t");
  out += format("  static constexpr Index batches = {}, rows = {}, columns = {}, depth = {};\n",
                extent(c.batch), extent(c.rows), extent(c.columns), extent(c.depth));
  out += format(
      "  static constexpr bool left_by_depth = {}, right_by_depth = {}, has_right = {}, padded = false;\n",
      lies_by_depth(c.depth, c.rows, &Axis::left), lies_by_depth(c.depth, c.columns, &Axis::right),
      c.has_right());
  out += matrix_index_function("left", {"batch", "row", "k"}, index_in(c, &Axis::left));
  out += matrix_index_function("right", {"batch", "k", "column"},
                               c.has_right() ? index_in(c, &Axis::right) : Index(0));
  out += matrix_index_function("out", {"batch", "row", "column"}, index_in(c, &Axis::out));
  out += matrix_index_function("position", {"batch", "row", "column"}, index_in(c, &Axis::position));
  return out + "};\n";
}

int64_t product_lanes(int64_t batches, int64_t rows, int64_t columns, int64_t depth, bool padded) {
  if (rows >= 16 && columns >= 16) return 0;
  return depth >= 128 && (!padded || batches * rows * columns < 32768) ? 32 : 1;
}

int64_t product_lanes(const Contraction& c) {
  const int64_t lanes = product_lanes(extent(c.batch), extent(c.rows), extent(c.columns), extent(c.depth));
  return lanes == 0 && !c.has_right() ? (extent(c.depth) >= 128 ? 32 : 1) : lanes;
}

namespace {

Result<void> accepts_matmul_plain(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, matrix_products));
  return accepts_views(graph, region, parts);
}

Result<RegionCode> write_matmul_plain(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, matrix_products));
  STITCH_TRY(Products all, products_of(request, parts));
  const Shape& result = request.graph.type(parts.product->results[0]).shape;
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, result.empty() ? 0 : result.size() - 1));

  RegionCode code;
  Signature signature("enqueue_" + request.name);
  std::string structs, body;
  for (const Place& place : all.made) {
    body +=
        format("  auto* {} = reinterpret_cast<{}*>(static_cast<char*>(workspace) + {});  // {}\n",
               place.pointer, element_type(place.dtype), code.workspace_bytes, shape_comment(place.shape));
    code.workspace_bytes += (element_count(place.shape) * size_of(place.dtype) + 255) / 256 * 256;
  }
  auto is_made = [&](const Place* place) {
    for (const Place& made : all.made)
      if (&made == place) return true;
    return false;
  };
  for (const Contraction& step : all.steps)
    for (const View* view : {&step.left, &step.right})
      if (view->place && !is_made(view->place)) signature.read(*view->place);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(*all.steps.back().out.place);
  if (!all.made.empty()) signature.workspace();

  for (size_t i = 0; i < all.steps.size(); ++i) {
    const Contraction& step = all.steps[i];
    bool last = i + 1 == all.steps.size();
    std::string name = type_name(request.name, all.steps.size() > 1 ? format("Product{}", i + 1) : "Product");
    structs += product_struct(step, name) + "\n";
    std::string right = step.has_right() ? step.right.place->pointer : "nullptr";
    std::string call = format("stitch::enqueue_product<{}>(\n      \"{}\", {}{{}}, {}, {}, {}, {}, stream)",
                              product_lanes(step), request.name, name, step.left.place->pointer, right,
                              step.out.place->pointer, last ? epilogue.construct : "stitch::NoEpilogue{}");
    body += last ? format("  return {};\n", call) : format("  STITCH_OK_OR_RETURN({});\n", call);
  }
  structs += epilogue.text();

  code.includes = "#include \"stitch/kernels/matmul.h\"\n";
  code.declaration = signature.declaration();
  code.source =
      format("// {}{}\n// On the CUDA cores, exact; kernels/matmul.h has the kernel.\n{}{} {{\n{}}}\n",
             describe(all.steps.back()), epilogue.then(), structs, signature.head(), body);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace

constinit const ProductTechnique matmul_plain{{
    .name = "matmul.plain",
    .idea = "any product on the CUDA cores",
    .kind = plan::Kind::product,
    .entry = plan::Entry::plain,
    .accepts = accepts_matmul_plain,
    .write = write_matmul_plain,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return plain_rate(context);
    },
}};

}  // namespace stitch::code
