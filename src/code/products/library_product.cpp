#include "code/products/library_product.h"

#include <algorithm>
#include <array>

#include "code/names.h"
#include "graph/einsum.h"

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

std::optional<MatrixForm> form_of(const Axes& batch, const Axes& first, const Axes& second,
                                  int64_t Axis::*tensor) {
  if (batch.size() > 1 || first.size() > 1 || second.size() > 1) return std::nullopt;
  int64_t high = extent(first), wide = extent(second);
  int64_t along_first = first.empty() ? 0 : first[0].*tensor,
          along_second = second.empty() ? 0 : second[0].*tensor;
  MatrixForm form;
  if (second.empty() || along_second == 1) {
    form.row_stride = first.empty() ? wide : along_first;
    if (form.row_stride < wide) return std::nullopt;
  } else if (first.empty() || along_first == 1) {
    form.transposed = true;
    form.row_stride = along_second;
    if (form.row_stride < high) return std::nullopt;
  } else {
    return std::nullopt;
  }
  form.batch_stride = batch.empty() ? 0 : batch[0].*tensor;
  return form;
}

bool LibraryProduct::is_weight(const View& view) const {
  return std::ranges::any_of(request.weights, [&](const Place& place) { return &place == view.place; });
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
  } else {
    text += format("  spec.result_type = {};\n", cuda_type(result_type));
    if (result_form.row_stride != columns())
      text += format("  spec.result_row_stride = {};\n", result_form.row_stride);
    if (batches() > 1) text += format("  spec.result_batch_stride = {};\n", result_form.batch_stride);
  }
  const char* activation = in_library.activation == LibraryEpilogue::relu        ? "RELU"
                           : in_library.activation == LibraryEpilogue::gelu_tanh ? "GELU"
                                                                                 : "";
  if (in_library.bias)
    text += format("  spec.epilogue = CUBLASLT_EPILOGUE_{}{}BIAS;\n  spec.bias = {};\n", activation,
                   *activation ? "_" : "", in_library.bias->place->pointer);
  else if (*activation)
    text += format("  spec.epilogue = CUBLASLT_EPILOGUE_{};\n", activation);
  auto algorithm = request.region.settings.find("algorithm");
  if (algorithm != request.region.settings.end() && algorithm->second != 0)
    text += format("  spec.algorithm = {};\n", algorithm->second);
  return text;
}

RegionCode LibraryProduct::finish(std::string_view idea) {
  if (finishes) {
    std::string from = in_place ? contraction.out.place->pointer : "dense_result";
    body += format("  return stitch::finish_product<{}>(\"{}\", {}, {}, {}, stream);\n", product,
                   request.name, from, contraction.out.place->pointer,
                   epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
    for (const Place* place : epilogue.places) signature.read(*place);
  } else {
    body += "  return STITCH_OK;\n";
  }
  signature.write(*contraction.out.place);
  std::string own = finishes && !epilogue.empty() ? epilogue.definition + "\n" : "";
  bool indexed = (definitions + body).find(product) != std::string::npos;
  if (indexed) own = product_struct(contraction, product) + "\n" + own;
  code.source = format("// {}{}{}\n// {}\n", describe(contraction), epilogue.summary.empty() ? "" : ", then ",
                       epilogue.summary, idea);
  code.source += own + definitions + format("{} {{\n{}}}\n", signature.head(), body);
  code.declaration += signature.declaration();
  code.arguments = signature.arguments();
  return std::move(code);
}

Result<void> accepts_library_product(const Graph& graph, const plan::Region& region) {
  STITCH_TRY(Parts parts, parts_of(graph, region, matrix_products));
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

Result<LibraryProduct> library_product(const RegionRequest& request, DType operand) {
  LibraryProduct made(request);
  STITCH_TRY(made.parts, parts_of(request.graph, request.region, matrix_products));
  STITCH_TRY(made.products, products_of(request, made.parts));
  size_t last = request.graph.type(made.parts.product->results[0]).shape.size() - 1;
  STITCH_TRY(made.epilogue, epilogue_of(request, made.parts, last));
  Contraction& contraction = made.contraction = made.products.steps[0];

  auto form = form_of(contraction.batch, contraction.rows, contraction.columns, &Axis::out);
  if (contraction.scatter) form.reset();
  if (form && form->transposed) {
    exchange_sides(contraction);
    made.swapped = true;
    form = form_of(contraction.batch, contraction.rows, contraction.columns, &Axis::out);
  }
  made.result_type = contraction.out.place->dtype;
  bool direct = form && !form->transposed && (made.result_type == DType::f32 || made.result_type == operand);
  if (direct) made.result_form = *form;

  auto library = library_epilogue_of(request, made.parts, last);
  // The bias is known when the program is created, has the result's type and goes along its columns.
  bool fits = library.has_value();
  if (fits && library->bias) {
    const Place& bias = *library->bias->place;
    fits = !made.swapped && bias.dtype == made.result_type && made.is_weight(*library->bias) &&
           extent(contraction.columns) == element_count(bias.shape);
  }
  made.finishes = !direct || (!made.epilogue.empty() && !fits);
  if (!made.finishes && library) made.in_library = *library;
  bool dense = direct && form->row_stride == made.columns() && contraction.out.offset == 0 &&
               (made.batches() == 1 || form->batch_stride == made.rows() * made.columns());
  made.in_place = made.finishes && dense && made.result_type == DType::f32;
  if (made.finishes && !made.in_place)
    made.reserve("dense_result", "float", made.batches() * made.rows() * made.columns(),
                 shape_comment({made.batches(), made.rows(), made.columns()}));
  made.code.includes =
      "#include \"stitch/runtime/cublaslt.h\"\n#include \"stitch/kernels/matmul_arrange.h\"\n";
  made.code.libraries = {"cublasLt"};
  return made;
}

}  // namespace stitch::code
