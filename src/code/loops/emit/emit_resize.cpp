// Resizing: the nearest element, or a weighted mean of a few.
#include <array>
#include <cmath>

#include "base/format.h"
#include "code/loops/emit/emitter.h"

namespace stitch::code::loops {

namespace {

const char* axis_of(size_t d, size_t rank) { return std::array{"z", "y", "x"}[5 - rank + d - 2]; }

double scale_of(const Node& node, size_t d) {
  const auto& scales = node.attributes.numbers("scales");
  return scales.empty() ? 0 : scales[d - 2];
}

// The nearest element's index along a dimension.
Index nearest(Emitter& emitter, const Node& node, size_t d, int64_t in, int64_t out, const Indices& at) {
  const bool exact = node.attributes.text("mode") == "nearest_exact";
  const double scale = scale_of(node, d);
  // In float, as in PyTorch for every dtype: results on the edge depend on the rounding.
  float step = scale > 0 ? static_cast<float>(1 / scale) : static_cast<float>(in) / static_cast<float>(out);
  double whole = 1.0 / static_cast<double>(step);
  if (!exact && step == 1.0f && in == out) return at[d];
  if (!exact && scale <= 0 && out % in == 0 && out < (1 << 20) &&
      (std::lround(whole) & (std::lround(whole) - 1)) == 0) {
    // A power of two: exact in float too, and a shift here.
    return emitter.settled(at[d], out).divided_by(out / in);
  }
  Expression i = static_cast_to(computed_type(DType::f32), at[d]);
  if (exact) i = i + number(0.5, DType::f32);
  const char* axis = axis_of(d, at.size());
  const Expression source = named(emitter.names().unique(format("{}_source", axis)));
  const Type type = emitter.index_type();
  emitter.add(define_constant(type, source->name, static_cast_to(type, i * number(step, DType::f32))));
  return emitter.declare_index(axis, select(source < in - 1, source, in - 1), in);
}

// A result's position along a dimension: the element to its left, and the distance from it.
struct Position {
  Expression left, share;
};
Position position_of(Emitter& emitter, const Node& node, size_t d, int64_t in, int64_t out, const Indices& at,
                     const Type& type) {
  const bool cubic = node.attributes.text("mode") == "cubic";
  const char* axis = axis_of(d, at.size());
  auto real = [](double value) { return number(value, DType::f64); };
  auto unique = [&](const char* what) { return emitter.names().unique(format("{}_{}", axis, what)); };
  const Expression i = static_cast_to(double_type, at[d]), where = named(unique("position"));
  const double size_in = static_cast<double>(in), size_out = static_cast<double>(out),
               scale = scale_of(node, d), step = scale > 0 ? 1 / scale : size_in / size_out;
  Expression value = real(step) * (i + real(0.5)) - real(0.5);
  if (!cubic && in == out)
    value = i;
  else if (node.attributes.flag("align_corners"))
    value = out > 1 ? real((size_in - 1) / (size_out - 1)) * i : real(0);
  // In double: a float's rounding error would be multiplied by the position.
  if (!cubic) value = call("fmax", {value, real(0)});
  emitter.add(define_constant(double_type, where->name, value));
  const Position out_position{named(unique("left")), named(unique("share"))};
  const auto& [left, share] = out_position;
  const Type index = emitter.index_type();
  emitter.add(define_constant(
      index, left->name, static_cast_to(index, call("fmin", {call("floor", {where}), real(size_in - 1)}))));
  emitter.add(
      define_constant(type, share->name,
                      static_cast_to(type, call("fmin", {call("fmax", {where - left, real(0)}), real(1)}))));
  emitter.scopes().introduce(left->name);
  emitter.scopes().introduce(share->name);
  return out_position;
}

}  // namespace

Expression resized_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  ValueId x = node.operands[0];
  const Shape &in = emitter.graph().type(x).shape, &out = emitter.graph().type(id).shape;
  const std::string& mode = node.attributes.text("mode");
  Indices from = at;
  if (mode == "nearest" || mode == "nearest_exact") {
    for (size_t d = 2; d < in.size(); ++d) from[d] = nearest(emitter, node, d, in[d], out[d], at);
    return emitter.value(x, from);
  }
  const bool cubic = mode == "cubic";
  const DType dtype = emitter.graph().type(id).dtype;
  const Type type = computed_type(dtype), index = emitter.index_type();
  const Expression sum = named(emitter.names().unique(emitter.graph()[id].name));
  std::vector<Position> positions;
  for (size_t d = 2; d < in.size(); ++d)
    positions.push_back(position_of(emitter, node, d, in[d], out[d], at, type));
  emitter.add(define_variable(type, sum->name, number(0, dtype)));
  Expression product;
  for (size_t d = 2; d < in.size(); ++d) {
    const auto& [left, share] = positions[d - 2];
    const char* axis = axis_of(d, in.size());
    const int64_t taps = cubic ? 4 : 2;
    const Expression tap = emitter.open_loop(format("t{}", axis), 0, taps, 1, taps, true);
    const Expression weight = named(emitter.names().unique(format("{}_weight", axis)));
    emitter.add(define_constant(type, weight->name,
                                cubic ? call("stitch::cubic_weight", {share - static_cast_to(type, tap - 1)})
                                      : select(tap == 0, number(1, dtype) - share, share)));
    const Expression source = left + tap;
    from[d] = emitter.declare_index(
        axis,
        cubic ? call(format("stitch::clamp<{}>", index.name), {source - 1, 0, in[d] - 1})
              : select(source < in[d] - 1, source, in[d] - 1),
        in[d]);
    product = product.empty() ? weight : product * weight;
  }
  Expression value = emitter.value(x, from);
  emitter.add(assign(sum, product * value, Operator::add));
  for (size_t d = 2; d < in.size(); ++d) emitter.close();
  return sum;
}

}  // namespace stitch::code::loops
