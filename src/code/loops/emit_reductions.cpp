// What follows from a row's findings for one element, and the findings by a loop in each thread where no
// kernel offers better.
#include "base/format.h"
#include "base/text.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

std::vector<std::string> Emitter::findings(const Reduction& reduction, const Indices& kept) {
  std::string key = format("found|{}|{}", reduction.node, key_of(reduction.operand, kept));
  size_t count = finding_types(graph(), reduction).size();
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i)
    if (const std::string* known = scopes_.find(format("{}|{}", key, i))) out.push_back(*known);
  if (out.size() == count) return out;

  Scopes::Outside outside(scopes_, scopes_.outermost(kept));
  inlined_elements += reduction.length();
  Scheme scheme =
      scheme_of(graph(), reduction, true, [&](std::string_view name) { return names_.unique(name); });
  Shape shape = reduction.reduced_shape();
  for (const Pass& pass : scheme.passes) {
    std::string accumulator = names_.unique(graph()[reduction.operand].name + "_over");
    line(format("{} {} = {};", pass.type, accumulator, pass.identity));
    Indices reduced;
    for (size_t d = 0; d < shape.size() && reduction.length() > 0; ++d)
      reduced.push_back(open_loop("k", "0", std::to_string(shape[d]), 1, shape[d], shape[d] <= 8));
    if (reduction.length() > 0) {
      std::string x = value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
      line(pass.step(accumulator, x, flatten(reduced, shape).text()));
      for (size_t d = 0; d < shape.size(); ++d) close();
    }
    for (const Pass::Finding& each : pass.finish(accumulator))
      line(format("const {} {} = {};", each.type, each.name, each.text));
  }
  for (size_t i = 0; i < count; ++i) scopes_.remember(format("{}|{}", key, i), scheme.findings[i]);
  return scheme.findings;
}

std::string Emitter::reduced(const Node& node, const Reduction& reduction, size_t result, const Indices& at) {
  std::vector<std::string> found = findings(reduction, reduction.kept_of(graph(), at));
  DType dtype = graph().type(reduction.operand).dtype;
  auto operand = [&] { return value(reduction.operand, at); };
  auto has = [&](size_t i) { return i < node.operands.size() && node.operands[i] != ValueId::none; };
  switch (node.op) {
    case Op::softmax: return format("{}({} - {}) * {}", call_of("exp", dtype), operand(), found[0], found[1]);
    case Op::log_softmax: return format("{} - {} - {}", operand(), found[0], found[1]);
    case Op::batch_norm: return batch_norm(node, at, found, result);
    case Op::layer_norm:
    case Op::rms_norm:
    case Op::group_norm: {
      Indices weight_at;
      if (node.op == Op::group_norm)
        weight_at = {at[1]};
      else
        weight_at.assign(at.end() - node.attributes.integer("dims"), at.end());
      std::string text = node.op == Op::rms_norm ? format("{} * {}", operand(), found[0])
                                                 : format("({} - {}) * {}", operand(), found[0], found[1]);
      if (has(1))
        text += " * " + cast(value(node.operands[1], weight_at), graph().type(node.operands[1]).dtype, dtype);
      if (has(2))
        text += " + " + cast(value(node.operands[2], weight_at), graph().type(node.operands[2]).dtype, dtype);
      return text;
    }
    default: return found[0];
  }
}

std::string Emitter::batch_norm(const Node& node, const Indices& at, const std::vector<std::string>& found,
                                size_t result) {
  const TensorType& x = graph().type(node.operands[0]);
  DType dtype = x.dtype;
  bool training = node.attributes.flag("training");
  double momentum = node.attributes.number("momentum"), eps = node.attributes.number("eps");
  auto has = [&](size_t i) { return i < node.operands.size() && node.operands[i] != ValueId::none; };
  Indices channel = {result == 0 ? at[1] : at[0]};
  auto of_channel = [&](size_t i) {
    return cast(value(node.operands[i], channel), graph().type(node.operands[i]).dtype, dtype);
  };
  if (result > 0) {
    std::string before = of_channel(result == 1 ? 3 : 4);
    double count = static_cast<double>(x.elements() / std::max<int64_t>(x.shape[1], 1));
    // The running variance is the sample's, though the normalisation uses the population's.
    std::string fresh =
        result == 1 ? found[0] : format("{} * {}", found[2], literal(count / (count - 1), dtype));
    return cast(
        format("({} * {} + {} * {})", literal(1 - momentum, dtype), before, literal(momentum, dtype), fresh),
        dtype, graph().type(node.results[result]).dtype);
  }
  std::string key = format("channel|{}|{}", index_of(node.results[0]), channel[0].text());
  if (!scopes_.find(key)) {
    Scopes::Outside outside(scopes_, scopes_.outermost(channel));
    std::string inverse =
        training ? found[1]
                 : format("{}({} + {})", call_of("rsqrt", dtype), of_channel(4), literal(eps, dtype));
    std::string scale = names_.unique(graph()[node.results[0]].name + "_scale");
    line(format("const {} {} = {};", computed_type(dtype), scale,
                has(1) ? of_channel(1) + " * " + inverse : inverse));
    scopes_.remember(key, scale);
  }
  std::string scale = *scopes_.find(key), mean = training ? found[0] : of_channel(3);
  std::string text = format("({} - {}) * {}", value(node.operands[0], at), mean, scale);
  if (has(2)) text += " + " + of_channel(2);
  return text;
}

}  // namespace stitch::code::loops
