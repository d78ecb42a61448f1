// matmul.split_half: an FP32 product on fp16 tensor cores at FP32's accuracy (kernels/split_half.h has the
// idea): 252 TFLOP/s at most on an H200 where FP32 has 51. Weights are split once, activations on every run
// (8 to 12 bytes an element, and 4 more to find their scale). settings: products = 1 has one product, three
// times as deep; 2 has two, which reads the left side less and the result more; scale = 0 leaves out the
// search for activations' scale, where they are known to stay within fp16's range (65504). Chosen for
// products of f32 in classes strict and default.
#include "code/names.h"
#include "code/products/families.h"
#include "code/products/library_product.h"

namespace stitch::code {

namespace {

int64_t setting(const plan::Region& region, const char* name, int64_t otherwise) {
  auto found = region.settings.find(name);
  return found == region.settings.end() ? otherwise : found->second;
}

int64_t round_up(int64_t count) { return (count + 7) / 8 * 8; }

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

  int64_t padded(int64_t depth) const { return depth_inside ? round_up(depth) : round_up(side); }
  int64_t elements(int64_t batches, int64_t depth) const {
    return batches * parts * (depth_inside ? side : round_up(depth)) * padded(depth);
  }
};

// Left packs are read at every fourth index: the inner stride is 1, all others and the extent multiples of 4.
bool lies_in_quads(const Contraction& c, bool left, bool depth_inside) {
  int64_t Axis::*tensor = left ? &Axis::left : &Axis::right;
  const Axes& inner = depth_inside ? c.depth : left ? c.rows : c.columns;
  const View& view = left ? c.left : c.right;
  if (inner.size() != 1 || inner[0].*tensor != 1 || inner[0].extent % 4 != 0 || view.offset % 4 != 0)
    return false;
  for (const Axes* axes : {&c.batch, &c.rows, &c.columns, &c.depth})
    for (const Axis& axis : *axes)
      if (axes != &inner && axis.*tensor % 4 != 0) return false;
  return true;
}

Side side_of(const LibraryProduct& made, bool left, int64_t parts) {
  const Contraction& c = made.contraction;
  int64_t Axis::*tensor = left ? &Axis::left : &Axis::right;
  const Axes& other = left ? c.rows : c.columns;
  Side side{.left = left, .side = left ? made.rows() : made.columns(), .parts = parts};
  side.depth_inside = other.empty() || (!c.depth.empty() && c.depth.back().*tensor <= other.back().*tensor);
  side.quads = lies_in_quads(c, left, side.depth_inside);
  side.weight = made.is_weight(left ? c.left : c.right);
  side.place = (left ? c.left : c.right).place;
  side.type = type_name(made.request.name, left ? "Left" : "Right");
  return side;
}

std::string matrix_spec(const LibraryProduct& made, const Side& side) {
  const char* name = side.left ? "left" : "right";
  int64_t depth = round_up(made.depth());
  std::string text;
  if (side.left ? !side.depth_inside : side.depth_inside)
    text += format("  spec.{}_transposed = true;\n", name);
  text += format("  spec.{}_row_stride = {};\n", name,
                 side.depth_inside ? side.parts * depth : side.padded(made.depth()));
  if (made.batches() > 1)
    text += format("  spec.{}_batch_stride = {};\n", name, side.elements(1, made.depth()));
  return text;
}

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
  STITCH_TRY(LibraryProduct made, library_product(request, DType::f32));
  const plan::Region& region = request.region;
  double rows = static_cast<double>(made.rows()), columns = static_cast<double>(made.columns()),
         depth = static_cast<double>(made.depth());
  // One deep product writes the left side's high part twice; two products read the result again.
  bool one = 4 * rows * depth + 2 * columns * depth < 8 * rows * columns;
  int64_t products = setting(region, "products", one ? 1 : 2);
  Side left = side_of(made, true, products == 1 ? 3 : 2), right = side_of(made, false, 3);
  for (const Side* side : {&left, &right})
    if (side->place->dtype != DType::f32) return not_for(region, "reads f32 only");
  if (left.weight && right.weight) return not_for(region, "has nothing to do on a run");

  made.code.includes += "#include \"stitch/kernels/split_half.h\"\n";
  std::string scales = request.name + "_scales";
  int64_t padded_depth = round_up(made.depth());
  for (const Side* side : {&left, &right})
    made.definitions +=
        format("using {} = stitch::SplitOperand<{}, {}, {}, {}>;  // of {}\n", side->type, made.product,
               side->left, side->depth_inside, side->parts, side->place->pointer);
  made.definitions += "\n";
  // Before anything fills it: zeros, so that a scale nobody looks for is 1.
  made.code.packed.push_back(
      {scales, "stitch::SplitScales", 1,
       format("STITCH_CUDA(cudaMemsetAsync({}, 0, sizeof(stitch::SplitScales), nullptr));", scales)});
  made.signature.add(Signature::packs, "stitch::SplitScales*", scales);

  auto comment = [&](const Side& side) {
    int64_t wide = side.padded(made.depth());
    return side.depth_inside ? format("({}, {}, {}, {})", made.batches(), side.side, side.parts, padded_depth)
                             : format("({}, {}, {}, {})", made.batches(), side.parts, padded_depth, wide);
  };
  auto scaled = [&](const Side& side) {
    return side.weight || !side.left || setting(region, "scale", 1) != 0;
  };
  auto from = [](const Side& side) { return side.place->pointer; };
  std::string searches, splits;
  Side* last = left.weight ? &right : &left;
  for (Side* side : {&right, &left}) {
    if (!side->weight) {
      made.signature.read(*side->place);
      side->pointer = side->place->pointer + "_split";
      made.reserve(side->pointer, "__half", side->elements(made.batches(), made.depth()), comment(*side));
      if (scaled(*side))
        searches += format("  STITCH_OK_OR_RETURN((stitch::find_largest<{}, {}>({}, {}, stream)));\n",
                           side->type, side->quads, from(*side), scales);
      splits += format(
          "  STITCH_OK_OR_RETURN((stitch::split_operand<{}, {}, {}, {}>(\n      {}, {}, {}, stream)));\n",
          side->type, scaled(*side), side == last, side->quads, from(*side), side->pointer, scales);
      continue;
    }
    std::string pack = format("pack_{}_{}", request.name, side->place->pointer);
    side->pointer = format("{}_{}_split", request.name, side->place->pointer);
    Packed packed{side->pointer, "__half", side->elements(made.batches(), made.depth()),
                  format("STITCH_OK_OR_RETURN({}({}, {}, {}, nullptr));", pack, side->place->pointer, scales,
                         side->pointer)};
    Signature signature(pack);
    signature.read(*side->place);
    signature.add(Signature::packs, "stitch::SplitScales*", "scales");
    signature.add(Signature::writes, "__half*", "packed", comment(*side));
    made.code.declaration += signature.declaration();
    made.definitions += format(
        "{0} {{\n  STITCH_OK_OR_RETURN((stitch::find_largest<{1}, {2}>({3}, scales, stream)));\n"
        "  return stitch::split_operand<{1}, true, false, {2}>({3}, packed, scales, stream);\n}}\n\n",
        signature.head(), side->type, side->quads, from(*side));
    made.signature.packed(packed, comment(*side));
    made.code.packed.push_back(std::move(packed));
  }
  made.body += searches + splits;

  auto add_product = [&](const std::string& member, int64_t deep, const char* factors, bool finished) {
    std::string spec = format("{{\n  stitch::MatmulSpec spec{{{}, {}, {}}};  // rows, columns, depth\n",
                              made.rows(), made.columns(), deep);
    if (made.batches() > 1) spec += format("  spec.batch = {};\n", made.batches());
    spec += matrix_spec(made, left) + matrix_spec(made, right) + "  spec.type = CUDA_R_16F;\n";
    LibraryEpilogue held = made.in_library;
    if (!finished) made.in_library = {};
    spec += made.result_spec();
    made.in_library = held;
    spec += format("  spec.factors = {}->{};\n  STITCH_OK_OR_RETURN({}.create(cublas, spec));\n}}", scales,
                   factors, member);
    made.code.members.push_back({"stitch::Matmul", member, spec});
    made.signature.member(made.code.members.back());
  };
  auto enqueue = [&](const std::string& member, const std::string& right_pointer) {
    made.body += format("  STITCH_OK_OR_RETURN({}.enqueue({}, {}, {}, stream));\n", member, left.pointer,
                        right_pointer, made.result_pointer());
  };
  std::string member = request.name + "_matmul";
  if (products == 1) {
    add_product(member, 3 * padded_depth, "first", true);
    enqueue(member, right.pointer);
  } else {
    // The small terms first, then high times high on top of them.
    add_product(request.name + "_small_terms", 2 * padded_depth, "first", false);
    add_product(member, padded_depth, "second", true);
    enqueue(request.name + "_small_terms", right.pointer);
    int64_t third = 2 * padded_depth * (right.depth_inside ? 1 : right.padded(made.depth()));
    enqueue(member, format("{} + {}", right.pointer, third));
  }
  return made.finish(format("Each side split into two fp16 matrices, {} on tensor cores with FP32 sums.",
                            products == 1 ? "one deep product" : "two products"));
}

}  // namespace stitch::code
