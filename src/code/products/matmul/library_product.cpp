#include "code/products/matmul/library_product.h"

#include <algorithm>
#include <array>

#include "code/names.h"
#include "graph/einsum.h"
#include "plan/constants.h"

namespace stitch::code {

namespace {

constexpr std::array matrix_products = {Op::linear, Op::matmul, Op::einsum};

void exchange_sides(Contraction& contraction) {
  std::swap(contraction.left, contraction.right);
  std::swap(contraction.rows, contraction.columns);
  for (Axes* axes : {&contraction.batch, &contraction.rows, &contraction.columns, &contraction.depth})
    for (Axis& axis : *axes) std::swap(axis.left, axis.right);
}

}  // namespace

std::string cuda_type(DType dtype) {
  return dtype == DType::f16 ? "CUDA_R_16F" : dtype == DType::bf16 ? "CUDA_R_16BF" : "CUDA_R_32F";
}

namespace {

// A nest of axes as one, if they are contiguous in this tensor: 0 for none.
std::optional<int64_t> joined_stride(const Axes& axes, int64_t Axis::*tensor) {
  for (size_t i = 1; i < axes.size(); ++i)
    if (axes[i - 1].*tensor != axes[i].*tensor * axes[i].extent) return std::nullopt;
  return axes.empty() ? 0 : axes.back().*tensor;
}

}  // namespace

std::optional<MatrixForm> form_of(const Axes& batch, const Axes& first, const Axes& second,
                                  int64_t Axis::*tensor) {
  auto along_batch = joined_stride(batch, tensor), along_first = joined_stride(first, tensor),
       along_second = joined_stride(second, tensor);
  if (!along_batch || !along_first || !along_second) return std::nullopt;
  int64_t high = extent(first), wide = extent(second);
  MatrixForm form;
  if (second.empty() || *along_second == 1) {
    form.row_stride = first.empty() ? wide : *along_first;
    if (form.row_stride < wide) return std::nullopt;
  } else if (first.empty() || *along_first == 1) {
    form.transposed = true;
    form.row_stride = *along_second;
    if (form.row_stride < high) return std::nullopt;
  } else {
    return std::nullopt;
  }
  form.batch_stride = *along_batch;
  return form;
}

bool lies_in_quads(const Contraction& contraction, const Axes& inner, int64_t Axis::*tensor, int64_t offset,
                   int64_t run) {
  if (inner.empty() || inner.back().*tensor != 1 || inner.back().extent % run != 0 || offset % run != 0)
    return false;
  for (const Axes* axes : {&contraction.batch, &contraction.rows, &contraction.columns, &contraction.depth})
    for (const Axis& axis : *axes)
      if (&axis != &inner.back() && axis.*tensor % run != 0) return false;
  return true;
}

bool LibraryProduct::is_weight(const View& view) const {
  return plan::is_constant(request.graph, view.place->value);
}

std::vector<std::string> LibraryProduct::kept_weights() const {
  if (!in_library.bias) return {};
  return {in_library.bias->place->pointer};
}

void LibraryProduct::take_turns(DType type) {
  constexpr int64_t most_turns = 16;
  const Contraction& c = contraction;
  if (c.batch.size() < 2 || c.scatter || c.left.place->dtype != type || c.right.place->dtype != type) return;
  auto fits = [&](const Axes& batch) {
    return form_of(batch, c.rows, c.depth, &Axis::left) && form_of(batch, c.depth, c.columns, &Axis::right) &&
           form_of(batch, c.rows, c.columns, &Axis::out);
  };
  auto longest = std::ranges::max_element(c.batch, {}, &Axis::extent);
  if (fits(c.batch) || batches() / longest->extent > most_turns || !fits({*longest})) return;
  at_once = {*longest};
  turns = c.batch;
  turns.erase(turns.begin() + (longest - c.batch.begin()));
}

void LibraryProduct::add_up(int64_t pieces) {
  partials = pieces;
  finishes = true;
  in_place = false;
  in_library = {};
}

void LibraryProduct::fill_up(int64_t rows_to, int64_t columns_to) {
  // Several results have no room between them for more rows.
  if (batches() * partials > 1) rows_to = 1;
  bool written = !finishes || in_place;
  if (rows() % rows_to == 0 && columns() % columns_to == 0 && (!written || result_form.row_stride % 4 == 0))
    return;
  finishes = true;
  in_place = false;
  in_library = {};
  filled = columns_to;
  more_rows = (rows() + rows_to - 1) / rows_to * rows_to - rows();
}

void LibraryProduct::reserve_result() {
  if (!finishes || in_place) return;
  Shape shape{batches(), rows() + more_rows, dense_pitch()};
  if (partials > 1) shape[enlarged > 1 ? 1 : 0] *= partials;
  reserve("dense_result", "float", element_count(shape), shape_comment(shape));
}

void LibraryProduct::reserve(const std::string& name, std::string_view type, int64_t elements,
                             const std::string& comment) {
  signature.workspace();
  body += format("  auto* {} = reinterpret_cast<{}*>(static_cast<char*>(workspace) + {});  // {}\n", name,
                 type, code.workspace_bytes, comment);
  int64_t size = type == "__half" || type == "__nv_bfloat16" ? 2 : 4;
  code.workspace_bytes += (elements * size + 255) / 256 * 256;
}

std::string LibraryProduct::result_pointer() const {
  if (finishes && !in_place) return "dense_result";
  const View& out = contraction.out;
  return out.offset ? format("{} + {}", out.place->pointer, out.offset) : out.place->pointer;
}

std::string LibraryProduct::result_spec() const {
  std::string text;
  if (finishes && !in_place) {
    text += "  spec.result_type = CUDA_R_32F;\n";
    if (filled > 1) text += format("  spec.result_row_stride = {};\n", dense_pitch());
  } else {
    text += format("  spec.result_type = {};\n", cuda_type(result_type));
    if (result_form.row_stride != columns())
      text += format("  spec.result_row_stride = {};\n", result_form.row_stride);
    if (extent(at_once) > 1) text += format("  spec.result_batch_stride = {};\n", result_form.batch_stride);
  }
  const char* activation = in_library.activation == LibraryEpilogue::relu        ? "RELU"
                           : in_library.activation == LibraryEpilogue::gelu_tanh ? "GELU"
                                                                                 : "";
  if (in_library.bias)
    text += format("  spec.epilogue = CUBLASLT_EPILOGUE_{}{}BIAS;\n  spec.bias = {};\n", activation,
                   *activation ? "_" : "", in_library.bias->place->pointer);
  else if (*activation)
    text += format("  spec.epilogue = CUBLASLT_EPILOGUE_{};\n", activation);
  return text;
}

RegionCode LibraryProduct::finish(std::string_view idea) {
  if (!finishes) {
    body += "  return STITCH_OK;\n";
    epilogue.definition.clear();
    epilogue.places.clear();
    return finish_own(idea);
  }
  // In place, it reads where it writes.
  std::string from = in_place ? contraction.out.place->pointer : "dense_result";
  // 16-byte vectors in place; of an FP32 result that is converted, four elements.
  bool quads =
      !contraction.scatter && lies_in_quads(contraction, contraction.columns, &Axis::out,
                                            contraction.out.offset, in_place ? 16 / size_of(result_type) : 4);
  std::string form = format("{}, {}, {}", partials, in_place ? 0 : filled, quads);
  if (enlarged > 1) form += format(", {}", enlarged);
  body += format("  return stitch::finish_product<{}>(\"{}\", {}{{}}, {}, {}, {}, stream);\n", form,
                 request.name, product, from, contraction.out.place->pointer, epilogue.construct);
  return finish_own(idea);
}

RegionCode LibraryProduct::finish_own(std::string_view idea) {
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(*contraction.out.place);
  std::string own = epilogue.text();
  bool indexed = (definitions + body).find(product) != std::string::npos;
  if (indexed) own = product_struct(contraction, product) + "\n" + own;
  code.source = format("// {}{}\n// {}\n", describe(contraction), epilogue.then(), idea);
  code.source += own + definitions + format("{} {{\n{}}}\n", signature.head(), body);
  code.declaration += signature.declaration();
  code.arguments = signature.arguments();
  return std::move(code);
}

Result<void> accepts_library_product(const Graph& graph, const plan::Region& region) {
  STITCH_TRY(Parts parts, parts_of(graph, region, matrix_products));
  STITCH_CHECK(accepts_views(graph, region, parts));
  const Node& node = *parts.product;
  DType dtype = graph.type(node.results[0]).dtype;
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16)
    return not_for(region, format("has no products of {}", name(dtype)));
  for (ValueId operand : node.operands)
    if (operand != ValueId::none && graph.type(operand).elements() == 0)
      return not_for(region, "has no products of nothing");
  if (node.op != Op::einsum) return {};
  if (node.operands.size() != 2) return not_for(region, "multiplies two operands");
  STITCH_TRY(Einsum einsum, parse_einsum(node.attributes.text("equation")));
  for (size_t side : {0u, 1u})
    for (char letter : einsum.operands[side])
      if (einsum.operands[1 - side].find(letter) == std::string::npos &&
          einsum.result.find(letter) == std::string::npos)
        return not_for(region, format("can't sum '{}' in one operand alone", letter));
  return {};
}

Result<void> accepts_f32_product(const Graph& graph, const plan::Region& region) {
  STITCH_CHECK(accepts_library_product(graph, region));
  for (int32_t node : region.nodes)
    for (ValueId result : graph.node(node).results)
      if (graph.type(result).dtype != DType::f32) return not_for(region, "multiplies f32");
  return {};
}

Result<void> reads_f32(const plan::Context&, const plan::Plan& plan, const plan::Region& region) {
  for (ValueId id : region.reads)
    if (plan.storage[index_of(id)].dtype != DType::f32) return not_for(region, "reads f32 only");
  return {};
}

Result<LibraryProduct> library_product(const RegionRequest& request, DType operand, bool turns, bool adds) {
  LibraryProduct made(request);
  STITCH_TRY(made.parts, parts_of(request.graph, request.region, matrix_products));
  STITCH_TRY(made.products, products_of(request, made.parts));
  size_t last = request.graph.type(made.parts.product->results[0]).shape.size() - 1;
  STITCH_TRY(made.epilogue, epilogue_of(request, made.parts, last));
  Contraction& contraction = made.contraction = made.products.steps[0];

  made.at_once = contraction.batch;
  if (turns) made.take_turns(operand);
  auto form = form_of(made.at_once, contraction.rows, contraction.columns, &Axis::out);
  if (contraction.scatter) form.reset();
  if (form && form->transposed) {
    exchange_sides(contraction);
    for (Axes* axes : {&made.at_once, &made.turns})
      for (Axis& axis : *axes) std::swap(axis.left, axis.right);
    made.swapped = true;
    form = form_of(made.at_once, contraction.rows, contraction.columns, &Axis::out);
  }
  made.result_type = contraction.out.place->dtype;
  bool direct = form && !form->transposed && (made.result_type == DType::f32 || made.result_type == operand);
  if (direct) made.result_form = *form;

  adds = adds && direct && made.turns.empty() && made.result_type != DType::f32;
  auto library = library_epilogue_of(request, made.parts, last, true, adds ? &contraction.out : nullptr);
  // The bias is known at create, has the result's type and runs along its columns.
  bool fits = library.has_value();
  if (fits && library->bias) {
    const Place& bias = *library->bias->place;
    fits = !made.swapped && bias.dtype == made.result_type && made.is_weight(*library->bias) &&
           extent(contraction.columns) == element_count(bias.shape);
  }
  made.finishes = !direct || (!made.epilogue.empty() && !fits);
  if (!made.finishes && library) made.in_library = *library;
  // A product of 16-bit tensors is rounded to their type before its epilogue, as in PyTorch: half the bytes
  // of FP32.
  const DType of_graph = request.graph.type(made.parts.product->results[0]).dtype;
  made.in_place = made.finishes && direct && (made.result_type == DType::f32 || made.result_type == of_graph);
  // The library adds the bias before rounding, and the pass has less to do.
  if (adds && made.in_place && !made.swapped) {
    const Node& product = *made.parts.product;
    const bool biased =
        product.op == Op::linear && product.operands.size() > 2 && product.operands[2] != ValueId::none;
    auto bias = biased ? find_view(request, product.operands[2]) : std::nullopt;
    if (bias && bias->contiguous() && bias->offset == 0 && bias->place->dtype == made.result_type &&
        made.is_weight(*bias) && extent(contraction.columns) == element_count(bias->place->shape)) {
      made.in_library.bias = *bias;
      STITCH_TRY(made.epilogue, epilogue_of(request, made.parts, std::nullopt));
    }
  }
  if (made.in_library.added) made.signature.read(*made.in_library.added->place);
  made.code.includes =
      "#include \"stitch/runtime/cublaslt.h\"\n#include \"stitch/kernels/matmul_arrange.h\"\n";
  made.code.libraries = {"cublasLt"};
  return made;
}

}  // namespace stitch::code
