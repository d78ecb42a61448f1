// matmul.split_half: an FP32 product on fp16 tensor cores at FP32 accuracy (kernels/split_half.h): up to 252
// TFLOP/s on an H200, where FP32 has 51. Weights are split once, activations on every run (8 or 10 bytes per
// element). Knobs:
//   form          1: one GEMM with K tripled; 2: cross terms, then high · high' accumulated; 3: high and low
//                 rows stacked. Default: 3 for few rows and a weight that takes longer to read than to
//                 multiply, 2 for deep weights or if splitting is most of the work
//   longest_sum   the maximum depth summed without rounding in between (default: 4096)
//   chunks        pieces of the depth whose sums are added with rounding (default: as few as possible)
//   side_by_side  1: the chunks are a batch of products, summed by the finishing pass, for results too small
//                 to fill the GPU; 0: each is accumulated onto the previous ones
// Chosen for f32 products in classes strict and default that are bound by arithmetic.
#include "code/expression/type.h"
#include "code/names.h"
#include "code/products/matmul/library_product.h"
#include "code/products/matmul/product_size.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

// Blocks of a splitting pass, per multiprocessor.
constexpr int64_t split_blocks = 6, most_split_blocks = 8;
// As in kernels/split_half.h: SplitFactors, and the floats after a packed weight, besides one for each block.
constexpr int64_t factors_bytes = 28, tail_floats = 8;

int64_t round_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

// The depth in pieces of equal size, the last zero-padded.
struct Chunks {
  int64_t count, depth;
  bool side_by_side;
};

Chunks chunks_of(const LibraryProduct& made, const plan::Region& region, bool one_by_one) {
  const int64_t multiprocessors = made.request.context.gpu.sms;
  int64_t tiles = made.batches() * round_up(made.rows(), 128) / 128 * (round_up(made.columns(), 256) / 256);
  int64_t deepest = region.choice("longest_sum", 4096);
  int64_t least = (made.depth() + deepest - 1) / deepest;
  // Enough tiles for whole waves, while chunks stay deep.
  int64_t wave = std::min(multiprocessors / tiles, made.depth() / 1024);
  // Short sums of a small result: each alone would leave most of the GPU idle, and L2 holds all of them.
  constexpr int64_t held = 32 << 20;
  const bool small =
      least > 1 && 2 * tiles <= multiprocessors && 4 * least * made.rows() * made.columns() <= held;
  bool thin = made.batches() == 1 && (wave > 1 || small);
  thin = !one_by_one && made.batches() == 1 && region.choice("side_by_side", thin) != 0;
  int64_t count = region.choice("chunks", thin && wave > 1 ? round_up(least, wave) : least);
  if (count <= 1) return {1, round_up(made.depth(), 8), false};
  int64_t depth = round_up((made.depth() + count - 1) / count, 64);
  return {(made.depth() + depth - 1) / depth, depth, thin};
}

enum class Form { deep = 1, accumulated, stacked };

// One side of the product in split form.
struct Side {
  bool left;
  bool depth_inside;  // stored as (side, depth)
  bool quads;         // every four elements are contiguous
  int64_t side, parts;
  int64_t part_depth;  // stride between parts
  bool weight;
  const Place* place;
  std::string type;     // of its SplitOperand
  std::string pointer;  // of its split form

  int64_t depth;        // padded
  int64_t filled_side;  // in the products
  int64_t padded() const { return depth_inside ? depth : round_up(side, 8); }
  int64_t elements() const { return parts * (depth_inside ? side : depth) * padded(); }
  // After the last element: padding rows read by a product.
  int64_t slack() const { return depth_inside ? parts * padded() * (filled_side - side) : 0; }
  // Stride of the depth.
  int64_t step() const { return depth_inside ? 1 : padded(); }
  // Offset of a part for the products from this depth on.
  int64_t offset(int64_t part, int64_t at) const {
    return ((at / part_depth * parts + part) * part_depth + at % part_depth) * step();
  }
};

bool has_depth_inside(const Contraction& c, bool left) {
  int64_t Axis::*tensor = left ? &Axis::left : &Axis::right;
  const Axes& other = left ? c.rows : c.columns;
  return other.empty() || (!c.depth.empty() && c.depth.back().*tensor <= other.back().*tensor);
}

Side side_of(const LibraryProduct& made, bool left, int64_t parts, const Chunks& chunks) {
  const Contraction& c = made.contraction;
  int64_t Axis::*tensor = left ? &Axis::left : &Axis::right;
  const Axes& other = left ? c.rows : c.columns;
  const View& view = left ? c.left : c.right;
  Side side{.left = left, .side = left ? made.rows() : made.columns(), .parts = parts};
  side.part_depth = parts == 3 ? chunks.depth : chunks.count * chunks.depth;
  side.depth_inside = has_depth_inside(c, left);
  side.quads = lies_in_quads(c, side.depth_inside ? c.depth : other, tensor, view.offset);
  side.weight = made.is_weight(view);
  side.place = view.place;
  side.type = type_name(made.request.name, left ? "Left" : "Right");
  side.depth = chunks.count * chunks.depth;
  return side;
}

// The packing of a weight, independent of the region: equal ones are shared.
std::string what_is_split(const Contraction& c, const Side& side, int64_t elements) {
  int64_t Axis::*tensor = side.left ? &Axis::left : &Axis::right;
  std::string out = format("split {} {} {} {} {} from {}", side.left, side.depth_inside, side.parts,
                           side.part_depth, elements, (side.left ? c.left : c.right).offset);
  for (const Axes* axes : {&c.batch, side.left ? &c.rows : &c.columns, &c.depth}) {
    out += ",";
    for (const Axis& axis : *axes) out += format(" {} by {}", axis.extent, axis.*tensor);
  }
  return out;
}

// Few rows and a large weight: reading it dominates, unless many chunks pass over the result, which is twice
// as large here.
bool stacks_rows(const LibraryProduct& made, const plan::Region& region) {
  if (made.batches() > 1 || !has_depth_inside(made.contraction, true)) return false;
  if (const int64_t given = region.choice("form", 0)) return given == static_cast<int64_t>(Form::stacked);
  return made.rows() <= 128 && made.columns() >= 8192 && chunks_of(made, region, true).depth >= 4096 &&
         made.is_weight(made.contraction.right);
}

// The other two, measured on an H200: the deep form is up to 10 % faster for weights of 4096 or more, which
// it enlarges by half, and 12-42 % for depths of 768 to 2048. If splitting dominates it is 14 % slower.
Form form_of(const LibraryProduct& made, const plan::Region& region) {
  if (const int64_t given = region.choice("form", 0))
    return given == static_cast<int64_t>(Form::deep) ? Form::deep : Form::accumulated;
  const bool left_weight = made.is_weight(made.contraction.left),
             right_weight = made.is_weight(made.contraction.right);
  if ((left_weight || right_weight) && made.depth() >= 4096) return Form::accumulated;
  const int64_t split = (left_weight ? 0 : made.rows()) + (right_weight ? 0 : made.columns());
  return made.depth() * split >= 8 * made.rows() * made.columns() ? Form::accumulated : Form::deep;
}

// The products of a run, in order.
class ProductWriter {
 public:
  ProductWriter(LibraryProduct& made, const Side& left, const Side& right, const Chunks& chunks,
                std::string factors)
      : made_(made), left_(left), right_(right), chunks_(chunks), factors_(std::move(factors)) {}

  void write(Form form) {
    const int64_t turns = chunks_.side_by_side ? 1 : chunks_.count;
    if (form == Form::accumulated) {
      // After the chunks' results, or below them.
      const int64_t behind =
          chunks_.side_by_side ? chunks_.count * left_.filled_side * made_.dense_pitch() : 0;
      add({.terms = "small_terms",
           .batch = made_.batches(),
           .depth = 2 * left_.part_depth,
           .result = behind,
           .factors = "small_terms"});
    }
    for (int64_t turn = 0; turn < turns; ++turn) {
      const int64_t at = turn * chunks_.depth;
      Product one{.terms = "matmul", .depth = chunks_.depth, .left = left_.offset(0, at)};
      one.batch = chunks_.side_by_side ? chunks_.count : made_.batches();
      one.right = right_.offset(form == Form::deep ? 0 : 1, at);
      if (form == Form::deep) one.depth *= 3;
      if (form == Form::stacked) one.terms = "high_matmul", one.left_rows = 2;
      if (chunks_.side_by_side || (turn == 0 && form != Form::accumulated)) one.factors = "first";
      one.last = turn + 1 == turns && form != Form::stacked;
      add(one);
    }
    if (form == Form::stacked)
      add({.terms = "low_matmul",
           .depth = left_.part_depth,
           .result = made_.dense_pitch(),
           .result_rows = 2});
  }

 private:
  struct Product {
    std::string terms;
    int64_t batch = 1, depth = 0;
    int64_t left = 0, right = 0, result = 0;  // offsets of the first elements
    std::string factors = "second";
    bool last = false;
    int left_rows = 1;    // 2: both parts of the left side, one row each
    int result_rows = 1;  // 2: every second row of the result
  };

  void add(const Product& product) {
    const std::string& member = this->member(product);
    auto at = [&](const std::string& pointer, int64_t offset) {
      return offset ? format("{} + {}", pointer, offset) : pointer;
    };
    made_.body += format("  STITCH_OK_OR_RETURN({}.enqueue({}, {}, {}, stream));\n", member,
                         at(left_.pointer, product.left), at(right_.pointer, product.right),
                         at(made_.result_pointer(), product.result));
  }

  const std::string& member(const Product& product) {
    bool finished =
        product.last && (made_.in_library.bias || made_.in_library.activation != LibraryEpilogue::none);
    std::string name = made_.request.name;
    if (product.factors == "first" && !product.last) name += "_first";
    if (finished && product.factors != "first") name += "_last";
    name += "_" + product.terms;
    for (const Member& member : made_.code.members)
      if (member.name == name) return member.name;
    std::string spec = format("{{\n  stitch::MatmulSpec spec{{{}, {}, {}}};  // rows, columns, depth\n",
                              product.left_rows * left_.filled_side, right_.filled_side, product.depth);
    if (product.batch > 1) spec += format("  spec.batch = {};\n", product.batch);
    spec += matrix_spec(left_, product, product.left_rows) + matrix_spec(right_, product, 1) +
            "  spec.type = CUDA_R_16F;\n";
    LibraryEpilogue held = made_.in_library;
    if (!product.last) made_.in_library = {};
    spec += made_.result_spec();
    std::vector<std::string> kept = made_.kept_weights();
    made_.in_library = held;
    if (product.result_rows > 1)
      spec += format("  spec.result_row_stride = {};\n", product.result_rows * made_.dense_pitch());
    spec += proposal_spec(made_.code, made_.request.region, name);
    spec += format("  spec.factors = {}->{};\n  STITCH_OK_OR_RETURN({}.create({}, spec));\n}}", factors_,
                   product.factors, name, made_.request.cublas);
    made_.code.members.push_back({"stitch::Matmul", name, spec, std::move(kept)});
    made_.signature.member(made_.code.members.back());
    return made_.code.members.back().name;
  }

  std::string matrix_spec(const Side& side, const Product& product, int rows) const {
    const char* name = side.left ? "left" : "right";
    std::string text;
    if (side.left ? !side.depth_inside : side.depth_inside)
      text += format("  spec.{}_transposed = true;\n", name);
    text += format("  spec.{}_row_stride = {};\n", name,
                   side.depth_inside ? side.parts * side.depth / rows : side.padded());
    if (product.batch > 1)
      text += format("  spec.{}_batch_stride = {};\n", name,
                     chunks_.side_by_side ? side.offset(0, chunks_.depth) : side.elements());
    return text;
  }

  LibraryProduct& made_;
  const Side &left_, &right_;
  const Chunks& chunks_;
  std::string factors_;
};

bool suits_matmul_split_half(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  if (context.numerics != Numerics::strict && context.numerics != Numerics::standard) return false;
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size || (size->left_is_weight && size->right_is_weight)) return false;
  return split_seconds(context.gpu, *size) <= 0.9 * fp32_seconds(context.gpu, *size);
}

std::vector<plan::Knob> knobs_matmul_split_half(const plan::Context& context, const plan::Region&) {
  const int64_t sms = context.gpu.sms;
  return {
      {"longest_sum",
       "products summed by tensor cores before FP32 adds the sum up",
       {32, 64, 128, 256, 512, 1024, 2048, 4096}},
      {"form",
       "1 one product of triple depth, 2 high terms accumulated onto low ones, 3 high and low rows stacked",
       {1, 2, 3}},
      {"chunks", "parts of the depth whose sums are added in FP32", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}},
      {"side_by_side",
       "1: the chunks are a batch of products, for results too small to fill the GPU",
       {0, 1}},
      {"blocks",
       "blocks of a pass that splits an operand",
       {2 * sms, 4 * sms, split_blocks * sms, most_split_blocks * sms},
       false},
      proposal_knob()};
}

std::optional<plan::TruncatedSums> truncated_sums_matmul_split_half(const plan::Context& context,
                                                                    const plan::Region& region) {
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size) return std::nullopt;
  return plan::TruncatedSums{size->depth(), size->left_is_weight || size->right_is_weight, "longest_sum"};
}

// A deep product reads and stores the high part of a weight twice: 6 bytes where FP32 has 4.
std::optional<plan::Leaner> leaner_matmul_split_half(const plan::Context& context,
                                                     const plan::Region& region) {
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size || region.choice("form", 0) != 0 || size->left_is_weight == size->right_is_weight)
    return std::nullopt;
  const double split = size->left_is_weight ? size->columns() : size->rows();
  if (size->depth() >= 4096 || size->depth() * split >= 8 * size->rows() * size->columns())
    return std::nullopt;  // as in form_of
  return plan::Leaner{"form", static_cast<int64_t>(Form::accumulated),
                      2 * (size->left_is_weight ? size->left : size->right),
                      size->left_is_weight ? size->left_weight : size->right_weight};
}

// Activations in parts, and a result finished by another pass.
double scratch_bytes_matmul_split_half(const plan::Context& context, const plan::Region& region) {
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size) return 0;
  const double parts = region.choice("form", 0) == static_cast<int64_t>(Form::accumulated) ? 2 : 3;
  const double split = (size->left_is_weight ? 0 : size->left) + (size->right_is_weight ? 0 : size->right);
  return 2 * parts * split + 4 * size->result;
}

Result<RegionCode> write_matmul_split_half(const RegionRequest& request) {
  STITCH_TRY(LibraryProduct made, library_product(request, DType::f32, false));
  const plan::Region& region = request.region;
  const bool stacked = stacks_rows(made, region);
  const Chunks chunks = chunks_of(made, region, stacked);
  const Form form = stacked ? Form::stacked : form_of(made, region);
  const int64_t parts = form == Form::deep ? 3 : 2;
  Side left = side_of(made, true, parts, chunks), right = side_of(made, false, parts, chunks);
  for (const Side* side : {&left, &right})
    if (side->place->dtype != DType::f32) return not_for(region, "reads f32 only");
  // Constants only: it runs once, at create, so nothing is worth packing.
  if (left.weight && right.weight) left.weight = right.weight = false;
  if (chunks.side_by_side) made.add_up(chunks.count + (form == Form::accumulated));
  if (stacked) {
    made.add_up(2);
    made.enlarged = 2048;
  }
  made.fill_up(left.depth_inside ? 1 : 8, right.depth_inside ? 4 : 8);
  left.filled_side = made.rows() + made.more_rows;
  right.filled_side = made.dense_pitch();
  made.reserve_result();

  made.code.includes += "#include \"stitch/kernels/split_half.h\"\n";
  const std::string factors = request.name + "_factors";
  for (const Side* side : {&left, &right})
    made.definitions += format("using {} = stitch::SplitOperand<{}, {}, {}, {}, {}, {}>;  // of {}\n",
                               side->type, made.product, side->left, side->depth_inside, side->parts,
                               side->part_depth, side->weight, side->place->pointer);
  made.definitions += "\n";
  made.code.packed.push_back({factors, "stitch::SplitFactors", factors_bytes, 1, std::nullopt});
  made.signature.add(Signature::packs, "stitch::SplitFactors*", factors);
  std::string largest = request.name + "_largest";
  const int64_t sms = request.context.gpu.sms, most_blocks = most_split_blocks * sms;
  made.code.packed.push_back(packed_memory(largest, DType::f32, most_blocks, std::nullopt));
  made.signature.add(Signature::packs, "float*", largest, shape_comment({most_blocks}));

  auto comment = [&](const Side& side) {
    return side.depth_inside ? shape_comment({made.batches(), side.side, side.depth / side.part_depth,
                                              side.parts, side.part_depth})
                             : shape_comment({made.batches(), side.depth / side.part_depth, side.parts,
                                              side.part_depth, side.padded()});
  };
  const std::string blocks =
      add_setting(made.code, region, request.name, "blocks", "int",
                  {2 * sms, 4 * sms, split_blocks * sms, most_blocks}, split_blocks * sms);
  made.signature.add(Signature::members, "int", blocks, "of a pass that splits");
  std::string splits, factor = literal(made.in_library.scale, DType::f32);
  // The first to be split stores its scale: a weight after its numbers.
  std::string scale = format("&{}->scale", factors);
  Side* last = left.weight ? &right : &left;
  for (Side* side : {&right, &left}) {
    const std::string& from = side->place->pointer;
    const int64_t elements = made.batches() * side->elements() + side->slack();
    if (!side->weight) {
      made.signature.read(*side->place);
      side->pointer = side->left ? "left_split" : "right_split";
      made.reserve(side->pointer, "__half", elements, comment(*side));
      continue;
    }
    std::string pack = "pack_" + request.own_name(*side->place);
    side->pointer = request.own_name(*side->place) + "_split";
    scale = format("stitch::weight_scale({}, {})", side->pointer, elements);
    Packed packed = packed_memory(side->pointer, DType::f16, elements + 2 * (tail_floats + most_blocks),
                                  PackCall{pack, {from, side->pointer}});
    packed.what = what_is_split(made.contraction, *side, elements);
    Signature signature(pack);
    signature.read(*side->place);
    signature.add(Signature::writes, "__half*", "packed", comment(*side));
    made.code.declaration += signature.declaration();
    made.definitions += format(
        "{} {{\n  return stitch::split_weight<{}, {}>(\n      {}, packed, {}, stitch::SplitBlocks{{{}, {}}}, "
        "stream);\n}}\n\n",
        signature.head(), side->type, side->quads, from, elements, split_blocks * sms, sms);
    made.signature.packed(packed, comment(*side));
    made.code.packed.push_back(std::move(packed));
  }
  for (const Side* side : {&right, &left})
    if (!side->weight)
      splits += format(
          "  STITCH_OK_OR_RETURN((stitch::split_operand<{}, {}, {}>(\n      {}, {}, {}, {}, {}, {}, "
          "stitch::SplitBlocks{{{}, {}}}, stream)));\n",
          side->type, side == last, side->quads, side->place->pointer, side->pointer, largest, scale, factors,
          factor, blocks, sms);
  made.body += splits;

  ProductWriter(made, left, right, chunks, factors).write(form);
  return made.finish(format("Each side split into two fp16 matrices, {} on tensor cores with FP32 sums{}.",
                            form == Form::deep          ? "one product of triple depth"
                            : form == Form::accumulated ? "the low terms, then the high ones"
                                                        : "high and low rows stacked",
                            chunks.count > 1 ? format(", {} chunks of the depth", chunks.count) : ""));
}

}  // namespace

constinit const ProductTechnique matmul_split_half{{
    .name = "matmul.split_half",
    .idea = "FP32 products on fp16 tensor cores, operands split in two",
    .kind = plan::Kind::product,
    .entry = plan::Entry::approximate,
    .accepts = [](const plan::Context& context,
                  const plan::Region& region) { return accepts_f32_product(context.graph, region); },
    .write = write_matmul_split_half,
    // Measured on an H200: 0.81 of the bandwidth if operands dominate, 0.70 if the result does.
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.75 * context.gpu.tensor_fp16 / 3, 0.75, 4};
    },
    .suits = suits_matmul_split_half,
    .knobs = knobs_matmul_split_half,
    .accepts_storage = reads_f32,
    .truncated_sums = truncated_sums_matmul_split_half,
    .leaner = leaner_matmul_split_half,
    .scratch_bytes = scratch_bytes_matmul_split_half,
}};

}  // namespace stitch::code
