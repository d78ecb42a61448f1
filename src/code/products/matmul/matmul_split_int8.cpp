// matmul.split_int8: an FP32 product as one fp16 product of the high terms and one int8 product of the low
// ones (kernels/split_int8.h): two thirds of the multiplications of matmul.split_half, as many bytes. Weights
// are split once, activations on every run (8 bytes per element, 12 if the depth isn't contiguous). A pass
// adds the two results with the scale of each row and column and applies the epilogue. Rows whose largest
// magnitude exceeds nine times the root mean square of their non-zeros are multiplied again in pairs of TF32.
// The mean of each left row is subtracted first, so that sums may be long with any signs. Knobs:
//   longest_sum  the maximum depth summed by fp16 tensor cores without rounding in between (4096)
// Chosen for large f32 products in classes strict and default that are bound by arithmetic.
#include <algorithm>

#include "code/names.h"
#include "code/products/matmul/library_product.h"
#include "code/products/matmul/product_size.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

constexpr int64_t deepest = 65'000;  // int8 sums of twice that length fit into int32
constexpr int64_t shallowest = 128;  // the columns' statistics must fit

// As in kernels/split_int8.h.
struct Int8Side {
  bool left, depth_inside, quads, weight;
  int64_t rows, depth;  // of all batches; padded
  const Place* place;
  std::string type;                                                 // of its Int8Operand
  std::string pointer;                                              // of its split form
  int64_t elements() const { return 2 * rows * depth + 4 * rows; }  // in fp16, followed by scales and means
};

Int8Side int8_side(const LibraryProduct& made, bool left) {
  const Contraction& c = made.contraction;
  int64_t Axis::*tensor = left ? &Axis::left : &Axis::right;
  const Axes& other = left ? c.rows : c.columns;
  const View& view = left ? c.left : c.right;
  Int8Side side{.left = left};
  side.depth_inside = lies_by_depth(c.depth, other, tensor);
  side.quads = side.depth_inside && lies_in_quads(c, c.depth, tensor, view.offset);
  side.weight = made.is_weight(view);
  side.rows = made.batches() * extent(other);
  side.depth = (made.depth() + 15) / 16 * 16;
  side.place = view.place;
  side.type = type_name(made.request.name, left ? "Left" : "Right");
  return side;
}

// The packing of a weight, independent of the region: equal ones are shared.
std::string what_int8_has(const Contraction& c, const Int8Side& side) {
  int64_t Axis::*tensor = side.left ? &Axis::left : &Axis::right;
  std::string out = format("int8 {} {} {} {} from {}", side.left, side.depth_inside, side.rows, side.depth,
                           (side.left ? c.left : c.right).offset);
  for (const Axes* axes : {&c.batch, side.left ? &c.rows : &c.columns, &c.depth}) {
    out += ",";
    for (const Axis& axis : *axes) out += format(" {} by {}", axis.extent, axis.*tensor);
  }
  return out;
}

// With operands that need 64-bit offsets the library's int8 kernels take twice as long: 128 x 32768 x 65536
// in 1.24 ms on an H200, a quarter of it in 0.14.
int64_t columns_at_once(const LibraryProduct& made, int64_t depth) {
  constexpr int64_t most = int64_t{1} << 30;
  if (made.batches() > 1 || made.columns() * depth < 2 * most) return made.columns();
  for (int64_t pieces = 2; pieces <= 4; ++pieces)
    if (made.columns() % (16 * pieces) == 0 && made.columns() / pieces * depth <= most)
      return made.columns() / pieces;
  return made.columns();
}

// Rows with outliers are multiplied twice: softmax outputs, gated values, normalised features of a trained
// model. Inputs, zeros after a ReLU and bounded values seldom have any.
bool is_tame(const Graph& graph, ValueId side) {
  if (graph[side].role != Role::result) return true;
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return node.results[0] == side && (node.op == Op::relu || node.op == Op::sigmoid || node.op == Op::tanh ||
                                       node.op == Op::hardsigmoid || node.op == Op::clamp);
  });
}

Result<void> accepts_matmul_split_int8(const plan::Context& context, const plan::Region& region) {
  STITCH_CHECK(accepts_f32_product(context.graph, region));
  const RegionRequest request = request_alone(context, region);
  STITCH_TRY(LibraryProduct made, library_product(request, DType::f32, false));
  if (made.depth() < shallowest || made.depth() > deepest)
    return not_for(region, format("makes sums of {} to {} products", shallowest, deepest));
  if (made.rows() % 16 != 0 || made.columns() % 16 != 0)
    return not_for(region, "takes whole tiles of 16 rows and columns");
  constexpr int64_t most = int64_t{1} << 31;
  if (made.batches() * made.rows() * made.columns() >= most ||
      made.batches() * std::max(made.rows(), made.columns()) * made.depth() >= most)
    return not_for(region, "counts elements in 32 bits");
  return {};
}

bool suits_matmul_split_int8(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  if (context.numerics != Numerics::strict && context.numerics != Numerics::standard) return false;
  // Errors are relative to a whole row: an elementwise allclose rejects small results, near a triangle's edge
  // or of sums that cancel.
  if (context.torch.as_pytorch) return false;
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size || (size->left_is_weight && size->right_is_weight)) return false;
  for (ValueId side : {size->left_source, size->right_source})
    if (!is_tame(context.graph, side)) return false;
  constexpr double fewest = 64, worth_it = 4e-5;
  if (std::min(size->rows(), size->columns()) < fewest) return false;
  const double own = int8_seconds(context.gpu, *size);
  return own >= worth_it && own <= 0.9 * split_seconds(context.gpu, *size) &&
         own <= 0.9 * fp32_seconds(context.gpu, *size);
}

std::optional<plan::TruncatedSums> truncated_sums_matmul_split_int8(const plan::Context& context,
                                                                    const plan::Region& region) {
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size) return std::nullopt;
  return plan::TruncatedSums{
      .length = size->depth(), .balanced = true, .knob = "longest_sum", .centred = true};
}

Result<RegionCode> write_matmul_split_int8(const RegionRequest& request) {
  STITCH_TRY(LibraryProduct made, library_product(request, DType::f32, false));
  Int8Side left = int8_side(made, true), right = int8_side(made, false);
  for (const Int8Side* side : {&left, &right})
    if (side->place->dtype != DType::f32) return not_for(request.region, "reads f32 only");
  // Constants only: it runs once, at create, so nothing is worth packing.
  if (left.weight && right.weight) left.weight = right.weight = false;
  made.add_up(2);
  made.reserve_result();
  made.code.includes += "#include \"stitch/kernels/split_int8.h\"\n";
  for (const Int8Side* side : {&left, &right})
    made.definitions +=
        format("using {} = stitch::Int8Operand<{}, {}, {}, {}>;  // of {}\n", side->type, made.product,
               side->left, side->depth_inside, made.depth(), side->place->pointer);
  auto object = [&](const Int8Side& side) { return format("{}{{{}{{}}}}", side.type, made.product); };
  made.definitions += "\n";

  for (Int8Side* side : {&right, &left}) {
    const std::string& from = side->place->pointer;
    const std::string comment =
        format("fp16 and int8 of ({}, {}), scales and means of {}", side->rows, side->depth, side->rows);
    if (!side->weight) {
      made.signature.read(*side->place);
      side->pointer = side->left ? "left_split" : "right_split";
      made.reserve(side->pointer, "__half", side->elements(), comment);
      made.body += format("  STITCH_OK_OR_RETURN((stitch::split_in_int8<{}>({}, {}, {}, stream)));\n",
                          side->quads, object(*side), from, side->pointer);
      continue;
    }
    const std::string pack = "pack_" + request.own_name(*side->place);
    side->pointer = request.own_name(*side->place) + "_split";
    Packed packed =
        packed_memory(side->pointer, DType::f16, side->elements(), PackCall{pack, {from, side->pointer}});
    packed.what = what_int8_has(made.contraction, *side);
    Signature signature(pack);
    signature.read(*side->place);
    signature.add(Signature::writes, "__half*", "packed", comment);
    made.code.declaration += signature.declaration();
    made.definitions += format("{} {{\n  return stitch::split_in_int8<{}>({}, {}, packed, stream);\n}}\n\n",
                               signature.head(), side->quads, object(*side), from);
    made.signature.packed(packed, comment);
    made.code.packed.push_back(std::move(packed));
  }

  // A library product from this depth on.
  struct Part {
    std::string name;
    int64_t depth, at = 0;
    bool small = false, adds = false;
    int64_t columns, first_column = 0;
  };
  auto add = [&](const Part& part) {
    const std::string member = request.name + "_" + part.name;
    const bool known =
        std::ranges::any_of(made.code.members, [&](const Member& each) { return each.name == member; });
    const int64_t stride = part.small ? 2 * left.depth : left.depth;
    if (!known) {
      std::string spec = format("{{\n  stitch::MatmulSpec spec{{{}, {}, {}}};  // rows, columns, depth\n",
                                made.rows(), part.columns, part.depth);
      if (made.batches() > 1)
        spec +=
            format("  spec.batch = {};\n  spec.left_batch_stride = {};\n  spec.right_batch_stride = {};\n",
                   made.batches(), made.rows() * stride, made.columns() * stride);
      spec += format(
          "  spec.right_transposed = true;\n  spec.left_row_stride = {0};\n  spec.right_row_stride = {0};\n",
          stride);
      spec += part.small ? "  spec.type = CUDA_R_8I;\n  spec.result_type = CUDA_R_32I;\n"
                           "  spec.compute = CUBLAS_COMPUTE_32I;\n"
                         : "  spec.type = CUDA_R_16F;\n  spec.result_type = CUDA_R_32F;\n";
      if (part.adds) spec += "  spec.accumulate = true;\n";
      if (part.columns != made.columns()) spec += format("  spec.result_row_stride = {};\n", made.columns());
      spec += proposal_spec(made.code, request.region, member);
      spec += format("  STITCH_OK_OR_RETURN({}.create({}, spec));\n}}", member, request.cublas);
      made.code.members.push_back({"stitch::Matmul", member, spec, {}});
      made.signature.member(made.code.members.back());
    }
    auto plus = [](const std::string& pointer, int64_t offset) {
      return offset ? format("{} + {}", pointer, offset) : pointer;
    };
    auto operand = [&](const Int8Side& side) {
      if (!part.small) return plus(side.pointer, part.at);
      return plus(format("{}.small({})", object(side), side.pointer),
                  side.left ? 0 : part.first_column * stride);
    };
    const int64_t sums = part.small ? made.batches() * made.rows() * made.columns() : 0;
    made.body += format("  STITCH_OK_OR_RETURN({}.enqueue({}, {}, {}, stream));\n", member, operand(left),
                        operand(right), plus("dense_result", sums + part.first_column));
  };
  const int64_t piece = columns_at_once(made, 2 * left.depth);
  for (int64_t column = 0; column < made.columns(); column += piece)
    add({.name = "small", .depth = 2 * left.depth, .small = true, .columns = piece, .first_column = column});
  const int64_t longest = request.region.choice("longest_sum", 4096),
                count = (left.depth + longest - 1) / longest, chunk = (left.depth / count + 15) / 16 * 16;
  for (int64_t at = 0; at < left.depth; at += chunk) {
    const int64_t depth = std::min(chunk, left.depth - at);
    add({.name = at == 0          ? "large"
                 : depth == chunk ? "larger"
                                  : "largest",
         .depth = depth,
         .at = at,
         .adds = at > 0,
         .columns = made.columns()});
  }

  const bool quads =
      !made.contraction.scatter && made.result_type == DType::f32 &&
      lies_in_quads(made.contraction, made.contraction.columns, &Axis::out, made.contraction.out.offset, 4);
  made.body += format(
      "  return stitch::finish_int8_product<{}>(\n      \"{}\", {}, {}, {}, {}, dense_result, {}, {}, "
      "stream);\n",
      quads, request.name, object(left), object(right), left.pointer, right.pointer,
      made.contraction.out.place->pointer, made.epilogue.construct);
  return made.finish_own("Large terms in fp16 and small ones in int8 on tensor cores.");
}

}  // namespace

constinit const ProductTechnique matmul_split_int8{{
    .name = "matmul.split_int8",
    .idea = "FP32 products as an fp16 product of the large terms and an int8 product of the small ones",
    .kind = plan::Kind::product,
    .entry = plan::Entry::approximate,
    .accepts = accepts_matmul_split_int8,
    .write = write_matmul_split_int8,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.75 * context.gpu.tensor_fp16 / 2, 0.75, 5};
    },
    .suits = suits_matmul_split_int8,
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {{"longest_sum",
               "products summed by tensor cores before FP32 adds the sum up",
               {128, 256, 512, 1024, 2048, 4096}},
              proposal_knob()};
    },
    .accepts_storage = reads_f32,
    .truncated_sums = truncated_sums_matmul_split_int8,
    // Computed for depth 4096: 1.8e-6 to 2.9e-6 with uniform weights, as layers are initialised, and 2.8e-6
    // to 3.9e-6 with normal ones.
    .added_error = [](const plan::Context&, const plan::Region&) { return 3e-6; },
}};

}  // namespace stitch::code
