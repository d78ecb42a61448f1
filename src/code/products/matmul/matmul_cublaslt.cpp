// matmul.cublaslt: a product by cuBLASLt, with bias and ReLU or tanh-GELU in its epilogue. Exact FP32 in
// classes strict and default (51 TFLOP/s on an H200), TF32 in tf32 (383), fp16 with FP32 sums in half (757).
// fp16 and bf16 tensors are multiplied directly, with FP32 sums; the product is accumulated onto a residual.
// Operands and results that no transposition flag describes are copied; weights in another type or layout are
// packed once. Chosen for every product of some size.
#include "code/expression/expression.h"
#include "code/names.h"
#include "code/products/matmul/library_product.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

DType operand_type(const RegionRequest& request, DType graph_type) {
  return graph_type == DType::f32 && request.context.numerics == Numerics::half ? DType::f16 : graph_type;
}

// One operand: in place, packed at create, or copied on every run.
struct Operand {
  std::string pointer;  // a C expression
  MatrixForm form;      // of (rows, depth), or of (depth, columns)
};

Operand prepare(LibraryProduct& made, bool left, DType type) {
  const Contraction& c = made.contraction;
  const View& view = left ? c.left : c.right;
  auto form = left ? form_of(made.at_once, c.rows, c.depth, &Axis::left)
                   : form_of(made.at_once, c.depth, c.columns, &Axis::right);
  const Place& place = *view.place;
  if (form && place.dtype == type) {
    made.signature.read(place);
    return {view.offset ? format("{} + {}", place.pointer, view.offset) : place.pointer, *form};
  }
  int64_t side = left ? made.rows() : made.columns();
  // By side: both may be views of one tensor.
  std::string copy = left ? "left_arranged" : "right_arranged",
              function = left ? "arrange_left" : "arrange_right";
  std::string comment = shape_comment({made.batches(), side, made.depth()});
  int64_t elements = made.batches() * side * made.depth();
  Operand out{copy, {!left, made.depth(), side * made.depth()}};
  if (made.is_weight(view)) {
    std::string pack = format("pack_{}_{}", made.request.name, left ? "left" : "right");
    out.pointer = format("{}_{}", made.request.name, copy);
    Packed packed = packed_memory(out.pointer, type, elements, PackCall{pack, {place.pointer, out.pointer}});
    Signature signature(pack);
    signature.read(place);
    signature.add(Signature::writes, packed.type + "*", "packed", comment);
    made.code.declaration += signature.declaration();
    made.definitions += format("{} {{\n  return stitch::{}({}{{}}, {}, packed, stream);\n}}\n\n",
                               signature.head(), function, made.product, place.pointer);
    made.signature.packed(packed, comment);
    made.code.packed.push_back(std::move(packed));
  } else {
    made.signature.read(place);
    made.reserve(copy, element_type(type), elements, comment);
    made.body += format("  STITCH_OK_OR_RETURN(stitch::{}({}{{}}, {}, {}, stream));\n", function,
                        made.product, place.pointer, copy);
  }
  return out;
}

bool is_half_product(const Graph& graph, const plan::Region& region) {
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    if (node.op != Op::linear && node.op != Op::matmul && node.op != Op::einsum) continue;
    const DType dtype = graph.type(node.results[0]).dtype;
    return dtype == DType::f16 || dtype == DType::bf16;
  }
  return false;
}

Result<void> accepts_matmul_cublaslt(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  return accepts_library_product(graph, region);
}

Result<RegionCode> write_matmul_cublaslt(const RegionRequest& request) {
  const Node& node = request.graph.node(request.region.nodes.back());
  DType type = operand_type(request, request.graph.type(node.results[0]).dtype);
  STITCH_TRY(LibraryProduct made, library_product(request, type, true, true));
  made.reserve_result();
  Operand left = prepare(made, true, type), right = prepare(made, false, type);

  std::string spec = format("{{\n  stitch::MatmulSpec spec{{{}, {}, {}}};  // rows, columns, depth\n",
                            made.rows(), made.columns(), made.depth());
  int64_t batch = extent(made.at_once);
  auto describe_operand = [&](const char* name, const MatrixForm& form, int64_t wide) {
    if (form.transposed) spec += format("  spec.{}_transposed = true;\n", name);
    if (form.row_stride != wide) spec += format("  spec.{}_row_stride = {};\n", name, form.row_stride);
    if (batch > 1) spec += format("  spec.{}_batch_stride = {};\n", name, form.batch_stride);
  };
  if (batch > 1) spec += format("  spec.batch = {};\n", batch);
  describe_operand("left", left.form, left.form.transposed ? made.rows() : made.depth());
  describe_operand("right", right.form, right.form.transposed ? made.depth() : made.columns());
  spec += format("  spec.type = {};\n", cuda_type(type));
  if (type == DType::f32 && request.context.numerics == Numerics::tf32)
    spec += "  spec.compute = CUBLAS_COMPUTE_32F_FAST_TF32;\n";
  spec += made.result_spec();
  if (made.in_library.scale != 1)
    spec += format("  spec.scale = {};\n", literal(made.in_library.scale, DType::f32));
  std::string added;
  if (const auto& view = made.in_library.added) {
    spec += "  spec.accumulate = true;\n";
    added = view->offset ? format(", {} + {}", view->place->pointer, view->offset)
                         : format(", {}", view->place->pointer);
  }
  std::string member = request.name + "_matmul";
  spec += proposal_spec(made.code, request.region, member);
  spec += format("  STITCH_OK_OR_RETURN({}.create({}, spec));\n}}", member, request.cublas);
  made.code.members.push_back({"stitch::Matmul", member, spec, made.kept_weights()});
  made.signature.member(made.code.members.back());
  auto in_turn = [&](const std::string& pointer, int64_t Axis::*tensor) {
    if (made.turns.empty()) return pointer;
    Shape extents;
    std::vector<int64_t> strides;
    for (const Axis& axis : made.turns) extents.push_back(axis.extent), strides.push_back(axis.*tensor);
    Index turn = Index::variable("turn", extent(made.turns));
    return format("{} + {}", pointer, position(unflatten(turn, extents), strides).text());
  };
  if (!made.turns.empty())
    made.body += format("  for (int64_t turn = 0; turn < {}; ++turn)\n  ", extent(made.turns));
  made.body += format("  STITCH_OK_OR_RETURN({}.enqueue({}, {}, {}, stream{}));\n", member,
                      in_turn(left.pointer, &Axis::left), in_turn(right.pointer, &Axis::right),
                      in_turn(made.result_pointer(), &Axis::out), added);
  return made.finish(format("By cuBLASLt; {} holds the algorithm.", member));
}

}  // namespace

constinit const ProductTechnique matmul_cublaslt{{
    .name = "matmul.cublaslt",
    .idea = "a product by cuBLASLt with bias and activation in its epilogue",
    .kind = plan::Kind::product,
    .accepts = accepts_matmul_cublaslt,
    .write = write_matmul_cublaslt,
    .rate = [](const plan::Context& context, const plan::Region& region) -> plan::Rate {
      const GpuSpec& gpu = context.gpu;
      if (is_half_product(context.graph, region)) return {0.8 * gpu.tensor_fp16, 0.8, 1};
      switch (context.numerics) {
        case Numerics::tf32: return {gpu.tf32_products, 0.8, 1};
        case Numerics::half: return {0.8 * gpu.tensor_fp16, 0.8, 1};
        default: return {0.75 * gpu.fp32, 0.8, 1};
      }
    },
    .gives_way = [](const plan::Context&, const plan::Region&) { return true; },
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {proposal_knob()};
    },
    .operand_precision =
        [](const plan::Context& context, const plan::Region& region) {
          const Node& node = context.graph.node(region.nodes.back());
          if (context.graph.type(node.results[0]).dtype != DType::f32) return plan::Precision::f32;
          if (context.numerics == Numerics::tf32) return plan::Precision::tf32;
          return context.numerics == Numerics::half ? plan::Precision::f16 : plan::Precision::f32;
        },
}};

}  // namespace stitch::code
