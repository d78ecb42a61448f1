// matmul.split_half: an FP32 product on fp16 tensor cores at FP32's accuracy (kernels/split_half.h has the
// idea): 252 TFLOP/s at most on an H200 where FP32 has 51. Weights are split once, activations on every run
// (10 bytes an element). Settings:
//   products      1: one product three times as deep; 2: two, which write the left side's high part once and
//                 read the result again: by itself, where the depth is much larger than the columns
//   deepest       the most of the depth that is summed without rounding in between; by itself 4096
//   chunks        pieces of the depth whose sums are added with rounding; by itself as few as that allows
//   side_by_side  1: the chunks are a batch of products, added up by the finishing pass: for results too
//                 small to fill the GPU; 0: each is added to the result of those before it
// Chosen for products of f32 in classes strict and default that are bound by arithmetic.
#include "code/names.h"
#include "code/products/families.h"
#include "code/products/library_product.h"
#include "code/products/scalar.h"

namespace stitch::code {

namespace {

int64_t setting(const plan::Region& region, const char* name, int64_t otherwise) {
  auto found = region.settings.find(name);
  return found == region.settings.end() ? otherwise : found->second;
}

constexpr int64_t split_blocks = 792, most_split_blocks = 1056;  // as in kernels/split_half.h

int64_t round_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

// The depth in pieces, all of one size; the last is filled up with zeros.
struct Chunks {
  int64_t count, depth;
  bool side_by_side;
};

Chunks chunks_of(const LibraryProduct& made, const plan::Region& region) {
  constexpr int64_t multiprocessors = 132;
  int64_t tiles = made.batches() * round_up(made.rows(), 128) / 128 * (round_up(made.columns(), 256) / 256);
  int64_t deepest = setting(region, "deepest", 4096);
  int64_t least = (made.depth() + deepest - 1) / deepest;
  // Enough tiles for whole waves, as long as chunks stay deep.
  int64_t wave = std::min(multiprocessors / tiles, made.depth() / 1024);
  bool thin = made.batches() == 1 && wave > 1;
  thin = made.batches() == 1 && setting(region, "side_by_side", thin) != 0;
  int64_t count = setting(region, "chunks", thin && wave > 1 ? round_up(least, wave) : least);
  if (count <= 1) return {1, round_up(made.depth(), 8), false};
  int64_t depth = round_up((made.depth() + count - 1) / count, 64);
  return {(made.depth() + depth - 1) / depth, depth, thin};
}

// A side of the product in its split form.
struct Side {
  bool left;
  bool depth_inside;  // stored as (side, depth)
  bool quads;         // four neighbours lie side by side, every time
  int64_t side, parts;
  bool weight;
  const Place* place;
  std::string type;     // of its SplitOperand
  std::string pointer;  // of its split form

  int64_t depth;        // padded
  int64_t filled_side;  // as the products have it
  int64_t padded() const { return depth_inside ? depth : round_up(side, 8); }
  int64_t elements() const { return parts * (depth_inside ? side : depth) * padded(); }
  // Behind the last element: rows that a product takes along to fill up its result.
  int64_t slack() const { return depth_inside ? parts * padded() * (filled_side - side) : 0; }
  // From a step of depth to the next.
  int64_t step() const { return depth_inside ? 1 : padded(); }
};

Side side_of(const LibraryProduct& made, bool left, int64_t parts, const Chunks& chunks) {
  const Contraction& c = made.contraction;
  int64_t Axis::*tensor = left ? &Axis::left : &Axis::right;
  const Axes& other = left ? c.rows : c.columns;
  const View& view = left ? c.left : c.right;
  Side side{.left = left, .side = left ? made.rows() : made.columns(), .parts = parts};
  side.depth_inside = other.empty() || (!c.depth.empty() && c.depth.back().*tensor <= other.back().*tensor);
  side.quads = lies_in_quads(c, side.depth_inside ? c.depth : other, tensor, view.offset);
  side.weight = made.is_weight(view);
  side.place = view.place;
  side.type = type_name(made.request.name, left ? "Left" : "Right");
  side.depth = chunks.count * chunks.depth;
  return side;
}

std::string matrix_spec(const LibraryProduct& made, const Side& side, const Chunks& chunks) {
  const char* name = side.left ? "left" : "right";
  std::string text;
  if (side.left ? !side.depth_inside : side.depth_inside)
    text += format("  spec.{}_transposed = true;\n", name);
  text += format("  spec.{}_row_stride = {};\n", name,
                 side.depth_inside ? side.parts * side.depth : side.padded());
  if (chunks.side_by_side)
    text += format("  spec.{}_batch_stride = {};\n", name, side.parts * chunks.depth * side.step());
  else if (made.batches() > 1)
    text += format("  spec.{}_batch_stride = {};\n", name, side.elements());
  return text;
}

// The products of a run, one after the other.
class ProductWriter {
 public:
  ProductWriter(LibraryProduct& made, const Side& left, const Side& right, const Chunks& chunks,
                std::string scales)
      : made_(made), left_(left), right_(right), chunks_(chunks), scales_(std::move(scales)) {}

  // Of the parts from `left_part` and `right_part` on, `parts` of them.
  void add(int64_t chunk, int64_t left_part, int64_t right_part, int64_t parts, bool last) {
    bool first = made_.code.members.empty();
    const std::string& member = this->member(parts, first, last);
    auto at = [&](const Side& side, int64_t part) {
      int64_t offset = (chunk * side.parts + part) * chunks_.depth * side.step();
      return offset ? format("{} + {}", side.pointer, offset) : side.pointer;
    };
    made_.body += format("  STITCH_OK_OR_RETURN({}.enqueue({}, {}, {}, stream));\n", member,
                         at(left_, left_part), at(right_, right_part), made_.result_pointer());
  }

 private:
  const std::string& member(int64_t parts, bool first, bool last) {
    bool finished = last && (made_.in_library.bias || made_.in_library.activation != LibraryEpilogue::none);
    std::string name = made_.request.name;
    if (!(first && last)) name += finished ? "_last" : first ? "_first" : "";
    name += parts == 2 ? "_small_terms" : "_matmul";
    for (const Member& member : made_.code.members)
      if (member.name == name) return member.name;
    std::string spec = format("{{\n  stitch::MatmulSpec spec{{{}, {}, {}}};  // rows, columns, depth\n",
                              left_.filled_side, right_.filled_side, parts * chunks_.depth);
    int64_t batch = chunks_.side_by_side ? chunks_.count : made_.batches();
    if (batch > 1) spec += format("  spec.batch = {};\n", batch);
    spec += matrix_spec(made_, left_, chunks_) + matrix_spec(made_, right_, chunks_) +
            "  spec.type = CUDA_R_16F;\n";
    LibraryEpilogue held = made_.in_library;
    if (!last) made_.in_library = {};
    spec += made_.result_spec();
    made_.in_library = held;
    spec += proposal_spec(made_.code, made_.request.region, name);
    spec += format("  spec.factors = {}->{};\n  STITCH_OK_OR_RETURN({}.create(cublas, spec));\n}}", scales_,
                   first ? "first" : "second", name);
    made_.code.members.push_back({"stitch::Matmul", name, spec});
    made_.signature.member(made_.code.members.back());
    return made_.code.members.back().name;
  }

  LibraryProduct& made_;
  const Side &left_, &right_;
  const Chunks& chunks_;
  std::string scales_;
};

}  // namespace

Result<void> accepts_matmul_split_half(const Graph& graph, const plan::Region& region) {
  STITCH_CHECK(accepts_library_product(graph, region));
  for (int32_t node : region.nodes)
    for (ValueId result : graph.nodes[static_cast<size_t>(node)].results)
      if (graph.type(result).dtype != DType::f32) return not_for(region, "splits f32 only");
  return {};
}

Result<RegionCode> write_matmul_split_half(const RegionRequest& request) {
  STITCH_CHECK(accepts_matmul_split_half(request.graph, request.region));
  STITCH_TRY(LibraryProduct made, library_product(request, DType::f32, false));
  const plan::Region& region = request.region;
  Chunks chunks = chunks_of(made, region);
  // 4 bytes an element of the left side against 8 an element of the result, in every chunk.
  bool two = !chunks.side_by_side && !made.is_weight(made.contraction.left) &&
             made.depth() > 3 * made.columns() * chunks.count;
  int64_t products = setting(region, "products", two ? 2 : 1);
  Side left = side_of(made, true, products == 1 ? 3 : 2, chunks), right = side_of(made, false, 3, chunks);
  for (const Side* side : {&left, &right})
    if (side->place->dtype != DType::f32) return not_for(region, "reads f32 only");
  if (left.weight && right.weight) return not_for(region, "has nothing to do on a run");
  if (chunks.side_by_side) made.add_up(chunks.count);
  made.fill_up(left.depth_inside ? 1 : 8, right.depth_inside ? 4 : 8);
  left.filled_side = made.rows() + made.more_rows;
  right.filled_side = made.dense_pitch();
  made.reserve_result();

  made.code.includes += "#include \"stitch/kernels/split_half.h\"\n";
  std::string scales = request.name + "_scales";
  for (const Side* side : {&left, &right})
    made.definitions += format("using {} = stitch::SplitOperand<{}, {}, {}, {}, {}, {}>;  // of {}\n",
                               side->type, made.product, side->left, side->depth_inside, side->parts,
                               chunks.depth, side->weight, side->place->pointer);
  made.definitions += "\n";
  made.code.packed.push_back({scales, "stitch::SplitScales", 1, ""});
  made.signature.add(Signature::packs, "stitch::SplitScales*", scales);
  std::string largest = request.name + "_largest";
  made.code.packed.push_back({largest, "float", most_split_blocks, ""});
  made.signature.add(Signature::packs, "float*", largest, shape_comment({most_split_blocks}));

  auto comment = [&](const Side& side) {
    return side.depth_inside
               ? shape_comment({made.batches(), side.side, chunks.count, side.parts, chunks.depth})
               : shape_comment({made.batches(), chunks.count, side.parts, chunks.depth, side.padded()});
  };
  const std::string blocks = add_setting(made.code, region, request.name, "blocks", "int",
                                         {264, 528, split_blocks, most_split_blocks}, split_blocks);
  made.signature.add(Signature::members, "int", blocks, "of a pass that splits");
  std::string splits, factor = literal_text(made.in_library.scale, "float");
  Side* last = left.weight ? &right : &left;
  for (Side* side : {&right, &left}) {
    const std::string& from = side->place->pointer;
    int64_t elements = made.batches() * side->elements() + side->slack();
    if (!side->weight) {
      made.signature.read(*side->place);
      side->pointer = side->left ? "left_split" : "right_split";
      made.reserve(side->pointer, "__half", elements, comment(*side));
      splits += format(
          "  STITCH_OK_OR_RETURN((stitch::split_operand<{}, {}, {}>(\n      {}, {}, {}, {}, {}, stream, "
          "{})));\n",
          side->type, side == last, side->quads, from, side->pointer, largest, scales, factor, blocks);
      continue;
    }
    std::string pack = format("pack_{}_{}", request.name, from);
    side->pointer = format("{}_{}_split", request.name, from);
    Packed packed{side->pointer, "__half", elements,
                  format("STITCH_OK_OR_RETURN({}({}, {}, {}, {}, nullptr));", pack, from, scales, largest,
                         side->pointer)};
    Signature signature(pack);
    signature.read(*side->place);
    signature.add(Signature::packs, "stitch::SplitScales*", "scales");
    signature.add(Signature::packs, "float*", "largest", shape_comment({most_split_blocks}));
    signature.add(Signature::writes, "__half*", "packed", comment(*side));
    made.code.declaration += signature.declaration();
    made.definitions += format(
        "{} {{\n  return stitch::split_operand<{}, false, {}>(\n      {}, packed, largest, scales, 1.0f, "
        "stream);\n}}\n\n",
        signature.head(), side->type, side->quads, from);
    made.signature.packed(packed, comment(*side));
    made.code.packed.push_back(std::move(packed));
  }
  made.body += splits;

  ProductWriter writer(made, left, right, chunks, scales);
  int64_t turns = chunks.side_by_side ? 1 : chunks.count;
  for (int64_t chunk = 0; chunk < turns; ++chunk) {
    bool last_chunk = chunk + 1 == turns;
    if (products == 1) {
      writer.add(chunk, 0, 0, 3, last_chunk);
    } else {
      // The small terms first, then high times high on top of them.
      writer.add(chunk, 0, 0, 2, false);
      writer.add(chunk, 0, 2, 1, last_chunk);
    }
  }
  return made.finish(format("Each side split into two fp16 matrices, {} on tensor cores with FP32 sums{}.",
                            products == 1 ? "one deep product" : "two products",
                            chunks.count > 1 ? format(", {} chunks of the depth", chunks.count) : ""));
}

}  // namespace stitch::code
