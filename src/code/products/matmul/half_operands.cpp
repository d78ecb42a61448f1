#include "code/products/matmul/half_operands.h"

#include "code/expression/expression.h"
#include "code/names.h"

namespace stitch::code {

namespace {

// Blocks of a converting pass, per multiprocessor.
constexpr int64_t usual_blocks = 6, most_blocks = 8;
// As in kernels/split_half.h: SplitFactors, and the floats after a packed weight, besides one for each block.
constexpr int64_t factors_bytes = 28, tail_floats = 8;

std::vector<int64_t> block_counts(const GpuSpec& gpu) {
  const int64_t sms = gpu.sms;
  return {2 * sms, 4 * sms, usual_blocks * sms, most_blocks * sms};
}

Result<HalfOperand> half_operand(const LibraryProduct& made, bool left, int64_t parts, int64_t depth,
                                 int64_t part_depth) {
  const Contraction& c = made.contraction;
  int64_t Axis::*tensor = left ? &Axis::left : &Axis::right;
  const Axes& other = left ? c.rows : c.columns;
  const View& view = left ? c.left : c.right;
  HalfOperand side{.left = left, .side = left ? made.rows() : made.columns(), .parts = parts};
  side.part_depth = part_depth;
  side.depth_inside = lies_by_depth(c.depth, other, tensor);
  side.quads = lies_in_quads(c, side.depth_inside ? c.depth : other, tensor, view.offset);
  side.weight = made.is_weight(view);
  side.place = view.place;
  side.type = type_name(made.request.name, left ? "Left" : "Right");
  side.depth = depth;
  if (view.place->dtype == DType::f32) return side;
  if (view.place->dtype != DType::f16 || parts > 1) return not_for(made.request.region, "reads f32 only");
  side.stored =
      left ? form_of(c.batch, c.rows, c.depth, tensor) : form_of(c.batch, c.depth, c.columns, tensor);
  const bool fills = left && side.depth_inside;  // rows of its own, none for padding
  for (int64_t count :
       {made.depth(), fills ? 0 : side.side, view.offset, side.stored ? side.stored->row_stride : 1,
        side.stored ? side.stored->batch_stride : 1})
    if (count % 8 != 0) return not_for(made.request.region, "reads fp16 as matrices in vectors of 16 bytes");
  return side;
}

// The packing of a weight, independent of the region: equal ones are shared.
std::string what_is_packed(const Contraction& c, const HalfOperand& side, int64_t elements) {
  int64_t Axis::*tensor = side.left ? &Axis::left : &Axis::right;
  std::string out = format("split {} {} {} {} {} from {}", side.left, side.depth_inside, side.parts,
                           side.part_depth, elements, (side.left ? c.left : c.right).offset);
  for (const Axes* axes : {&c.batch, side.left ? &c.rows : &c.columns, &c.depth}) {
    out += ",";
    for (const Axis& axis : *axes) out += format(" {} by {}", axis.extent, axis.*tensor);
  }
  return out;
}

}  // namespace

std::string HalfOperand::matrix_spec(int64_t batch_stride, int rows) const {
  const char* name = left ? "left" : "right";
  std::string text;
  if (stored) {
    if (stored->transposed) text += format("  spec.{}_transposed = true;\n", name);
    text += format("  spec.{}_row_stride = {};\n", name, stored->row_stride);
    if (batch_stride > 0) text += format("  spec.{}_batch_stride = {};\n", name, stored->batch_stride);
    return text;
  }
  if (left != depth_inside) text += format("  spec.{}_transposed = true;\n", name);
  text += format("  spec.{}_row_stride = {};\n", name, depth_inside ? parts * depth / rows : padded());
  if (batch_stride > 0) text += format("  spec.{}_batch_stride = {};\n", name, batch_stride);
  return text;
}

Result<HalfOperands> half_operands(const LibraryProduct& made, int64_t parts, int64_t depth,
                                   int64_t part_depth) {
  HalfOperands out;
  STITCH_TRY(out.left, half_operand(made, true, parts, depth, part_depth));
  STITCH_TRY(out.right, half_operand(made, false, parts, depth, part_depth));
  // Constants only: it runs once, at create, so nothing is worth packing.
  if (out.left.weight && out.right.weight) out.left.weight = out.right.weight = false;
  if (out.left.converted() || out.right.converted()) {
    out.factors = made.request.name + "_factors";
    if (out.left.stored || out.right.stored)
      return not_for(made.request.region,
                     "multiplies what is stored in fp16 with a weight, or with its like");
  }
  return out;
}

void fill_up(LibraryProduct& made, HalfOperands& operands) {
  auto& [left, right, factors, scale] = operands;
  made.fill_up(left.depth_inside ? 1 : 8, right.depth_inside && made.result_type == DType::f32 ? 4 : 8);
  left.filled_side = made.rows() + made.more_rows;
  right.filled_side = made.dense_pitch();
  made.reserve_result();
}

void write_conversions(LibraryProduct& made, HalfOperands& operands) {
  const RegionRequest& request = made.request;
  auto& [left, right, factors, line] = operands;
  made.code.includes += "#include \"stitch/kernels/split_half.h\"\n";
  for (const HalfOperand* side : {&left, &right})
    if (!side->stored)
      made.definitions += format("using {} = stitch::SplitOperand<{}, {}, {}, {}, {}, {}>;  // of {}\n",
                                 side->type, made.product, side->left, side->depth_inside, side->parts,
                                 side->part_depth, side->weight, side->place->pointer);
  made.definitions += "\n";
  const int64_t sms = request.context.gpu.sms, most = most_blocks * sms;
  const std::string largest = request.name + "_largest";
  std::string blocks;
  if (!factors.empty()) {
    made.code.packed.push_back({factors, "stitch::SplitFactors", factors_bytes, 1, std::nullopt});
    made.signature.add(Signature::packs, "stitch::SplitFactors*", factors);
    made.code.packed.push_back(packed_memory(largest, DType::f32, most, std::nullopt));
    made.signature.add(Signature::packs, "float*", largest, shape_comment({most}));
    blocks = add_setting(made.code, request.region, request.name, "blocks", "int",
                         block_counts(request.context.gpu), usual_blocks * sms);
    made.signature.add(Signature::members, "int", blocks, "of a pass that converts");
  }
  auto comment = [&](const HalfOperand& side) {
    if (side.parts == 1)
      return side.depth_inside ? shape_comment({made.batches(), side.side, side.depth})
                               : shape_comment({made.batches(), side.depth, side.padded()});
    return side.depth_inside ? shape_comment({made.batches(), side.side, side.depth / side.part_depth,
                                              side.parts, side.part_depth})
                             : shape_comment({made.batches(), side.depth / side.part_depth, side.parts,
                                              side.part_depth, side.padded()});
  };
  const std::string form = left.parts == 1 ? "half" : "split";
  const std::string factor = literal(made.in_library.scale, DType::f32);
  if (factors.empty()) line = format("  spec.scale = {};\n", factor);
  // The first to be split stores its scale: a weight after its numbers.
  std::string scale = format("&{}->scale", factors);
  const HalfOperand* last = left.weight ? &right : &left;
  for (HalfOperand* side : {&right, &left}) {
    const std::string& from = side->place->pointer;
    const int64_t elements = made.batches() * side->elements() + side->slack();
    if (side->stored) {
      const int64_t offset = (side->left ? made.contraction.left : made.contraction.right).offset;
      made.signature.read(*side->place);
      side->pointer = offset ? format("{} + {}", from, offset) : from;
      continue;
    }
    if (!side->weight) {
      made.signature.read(*side->place);
      side->pointer = (side->left ? "left_" : "right_") + form;
      made.reserve(side->pointer, "__half", elements, comment(*side));
      continue;
    }
    std::string pack = "pack_" + request.own_name(*side->place);
    side->pointer = request.own_name(*side->place) + "_" + form;
    scale = format("stitch::weight_scale({}, {})", side->pointer, elements);
    Packed packed = packed_memory(side->pointer, DType::f16, elements + 2 * (tail_floats + most),
                                  PackCall{pack, {from, side->pointer}});
    packed.what = what_is_packed(made.contraction, *side, elements);
    std::string more;
    if (factors.empty()) {
      line = format("  spec.factors = {} + 1;\n", scale);
      if (made.in_library.scale != 1) more = ", " + factor;
      packed.what += more;
    }
    Signature signature(pack);
    signature.read(*side->place);
    signature.add(Signature::writes, "__half*", "packed", comment(*side));
    made.code.declaration += signature.declaration();
    made.definitions += format(
        "{} {{\n  return stitch::split_weight<{}>(\n      {}{{{}{{}}}}, {}, packed, {}, "
        "stitch::SplitBlocks{{{}, {}}}, stream{});\n}}\n\n",
        signature.head(), side->quads, side->type, made.product, from, elements, usual_blocks * sms, sms,
        more);
    made.signature.packed(packed, comment(*side));
    made.code.packed.push_back(std::move(packed));
  }
  for (const HalfOperand* side : {&right, &left})
    if (side->converted())
      made.body += format(
          "  STITCH_OK_OR_RETURN((stitch::split_operand<{}, {}>(\n      {}{{{}{{}}}}, {}, {}, {}, {}, {}, "
          "{}, stitch::SplitBlocks{{{}, {}}}, stream)));\n",
          side == last, side->quads, side->type, made.product, side->place->pointer, side->pointer, largest,
          scale, factors, factor, blocks, sms);
}

plan::Knob conversion_blocks_knob(const GpuSpec& gpu) {
  return {"blocks", "blocks of a pass that converts an operand", block_counts(gpu), false};
}

}  // namespace stitch::code
