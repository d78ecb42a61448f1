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
#include "code/names.h"
#include "code/products/matmul/half_operands.h"
#include "code/products/matmul/product_size.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

// The depth in pieces of equal size, the last zero-padded.
struct Chunks {
  int64_t count, depth;
  bool side_by_side;
};

Chunks chunks_of(const LibraryProduct& made, const plan::Region& region, bool one_by_one) {
  const int64_t multiprocessors = made.request.context.gpu.sms;
  int64_t tiles =
      made.batches() * rounded_up(made.rows(), 128) / 128 * (rounded_up(made.columns(), 256) / 256);
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
  int64_t count = region.choice("chunks", thin && wave > 1 ? rounded_up(least, wave) : least);
  if (count <= 1) return {1, rounded_up(made.depth(), 8), false};
  int64_t depth = rounded_up((made.depth() + count - 1) / count, 64);
  return {(made.depth() + depth - 1) / depth, depth, thin};
}

enum class Form { deep = 1, accumulated, stacked };

// Few rows and a large weight: reading it dominates, unless many chunks pass over the result, which is twice
// as large here.
bool stacks_rows(const LibraryProduct& made, const plan::Region& region) {
  if (made.batches() > 1 || !lies_by_depth(made.contraction.depth, made.contraction.rows, &Axis::left))
    return false;
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
  ProductWriter(LibraryProduct& made, const HalfOperands& operands, const Chunks& chunks)
      : made_(made),
        left_(operands.left),
        right_(operands.right),
        factors_(operands.factors),
        chunks_(chunks) {}

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

  std::string matrix_spec(const HalfOperand& side, const Product& product, int rows) const {
    const int64_t batch = chunks_.side_by_side ? side.offset(0, chunks_.depth) : side.elements();
    return side.matrix_spec(product.batch > 1 ? batch : 0, rows);
  }

  LibraryProduct& made_;
  const HalfOperand &left_, &right_;
  const std::string& factors_;
  const Chunks& chunks_;
};

bool suits_matmul_split_half(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  if (context.numerics != Numerics::strict && context.numerics != Numerics::standard) return false;
  const std::optional<ProductSize> size = product_size(context.graph, region);
  if (!size || (size->left_is_weight && size->right_is_weight)) return false;
  return split_seconds(context.gpu, *size) <= 0.9 * fp32_seconds(context.gpu, *size);
}

std::vector<plan::Knob> knobs_matmul_split_half(const plan::Context& context, const plan::Region&) {
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
      conversion_blocks_knob(context.gpu),
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
                      size->left_is_weight ? size->left_source : size->right_source};
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
  // Forms and chunks are those of the sizes that decide.
  STITCH_TRY(const LibraryProduct decided, library_product(request.deciding(), DType::f32, false));
  if (decided.depth() != made.depth())
    return user_error("technique", "matmul.split_half: the depth changes from call to call");
  const bool stacked = stacks_rows(decided, region);
  const Chunks chunks = chunks_of(decided, region, stacked);
  const Form form = stacked ? Form::stacked : form_of(decided, region);
  const int64_t parts = form == Form::deep ? 3 : 2;
  STITCH_TRY(HalfOperands operands,
             half_operands(made, parts, chunks.count * chunks.depth,
                           form == Form::deep ? chunks.depth : chunks.count * chunks.depth));
  if (chunks.side_by_side) made.add_up(chunks.count + (form == Form::accumulated));
  if (stacked) {
    made.add_up(2);
    made.enlarged = 2048;
  }
  fill_up(made, operands);
  write_conversions(made, operands);

  ProductWriter(made, operands, chunks).write(form);
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
