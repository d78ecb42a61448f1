// What follows from a row's findings for one element, and the findings by a loop in each thread where no
// kernel offers better.
#include <algorithm>
#include <cctype>

#include "base/format.h"
#include "base/text.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

namespace {

constexpr int64_t most_unrolled = 32;  // elements of a row

// More than one pass over a row, or elements that follow from its findings.
bool looks_again(const Graph& graph, const Reduction& reduction) {
  if (reduction.grouped) return false;
  if (graph.nodes[static_cast<size_t>(reduction.node)].op == Op::rms_norm) return true;
  return scheme_of(graph, reduction, false, [](std::string_view name) {
           return std::string(name);
         }).passes.size() > 1;
}

}  // namespace

std::vector<std::string> Emitter::findings(const Reduction& reduction, const Indices& kept) {
  std::string key = format("found|{}|{}", reduction.node, key_of(reduction.operand, kept));
  size_t count = finding_types(graph(), reduction).size();
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i)
    if (const std::string* known = scopes_.find(format("{}|{}", key, i))) out.push_back(*known);
  if (out.size() == count) return out;

  // Outside of a pack's lanes, nothing that is done for all of them is in the pack.
  bool for_all_lanes =
      std::ranges::none_of(kept, [&](const Index& index) { return index.appears(pack_.variable); });
  PackLoop pack_before = pack_;
  auto stores_before = for_all_lanes ? std::exchange(pack_stores_, {}) : decltype(pack_stores_){};
  if (for_all_lanes) pack_ = {};
  {
    Scopes::Outside outside(scopes_, scopes_.outermost(kept));
    inlined_elements += reduction.length();
    const int64_t length = reduction.length();
    bool unrolled = length <= most_unrolled && unrollable(length, reduction.operand);
    bool held = unrolled && length > 1 && looks_again(graph(), reduction);
    if (held) hold_row(reduction, kept);
    Scheme scheme =
        scheme_of(graph(), reduction, !held, [&](std::string_view name) { return names_.unique(name); });
    Shape shape = reduction.reduced_shape();
    for (const Pass& pass : scheme.passes) {
      std::string accumulator = names_.unique(graph()[reduction.operand].name + "_over");
      line(format("{} {} = {};", pass.type, accumulator, pass.identity));
      if (length > 0) {
        Indices reduced;
        for (int64_t size : shape)
          reduced.push_back(open_loop("k", "0", std::to_string(size), 1, size, unrolled));
        std::string x = value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
        line(pass.step(accumulator, x, flatten(reduced, shape).text()));
        for (size_t d = 0; d < shape.size(); ++d) close();
      }
      for (const Pass::Finding& each : pass.finish(accumulator))
        line(format("const {} {} = {};", each.type, each.name, each.text));
    }
    for (size_t i = 0; i < count; ++i) scopes_.remember(format("{}|{}", key, i), scheme.findings[i]);
    out = scheme.findings;
  }
  if (for_all_lanes) {
    pack_ = pack_before;
    pack_stores_ = std::move(stores_before);
  }
  return out;
}

namespace {

std::string held_key(const Reduction& reduction, const Indices& kept) {
  return format("row|{}|{}", reduction.node, key_of(reduction.operand, kept));
}

// Does it consist of nothing but these variables and numbers?
bool only_of(const Index& index, const std::set<std::string>& variables) {
  const std::string text = index.text();
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > i && !std::isdigit(static_cast<unsigned char>(text[i])) &&
        !variables.contains(text.substr(i, end - i)))
      return false;
    i = std::max(end, i + 1);
  }
  return true;
}

}  // namespace

void Emitter::hold_row(const Reduction& reduction, const Indices& kept) {
  std::string array = names_.unique(graph()[reduction.operand].name + "_held");
  line(format("{} {}[{}];", type_of(reduction.operand), array, reduction.length()));
  Shape shape = reduction.reduced_shape();
  Indices reduced;
  for (int64_t size : shape) reduced.push_back(open_loop("k", "0", std::to_string(size), 1, size, true));
  std::string x = value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
  line(format("{}[{}] = {};", array, flatten(reduced, shape).text(), x));
  for (size_t d = 0; d < shape.size(); ++d) close();
  scopes_.remember(held_key(reduction, kept), array);
  if (std::ranges::find(held_rows_, reduction.node, &Reduction::node) == held_rows_.end())
    held_rows_.push_back(reduction);
}

std::optional<std::string> Emitter::held_element(ValueId id, const Indices& at) const {
  for (const Reduction& reduction : held_rows_) {
    if (reduction.operand != id || reduction.grouped || at.size() != reduction.space.size()) continue;
    Indices kept, reduced;
    for (size_t d = 0; d < at.size(); ++d) (reduction.along[d] ? reduced : kept).push_back(at[d]);
    const std::string* array = scopes_.find(held_key(reduction, kept));
    Index where = flatten(reduced, reduction.reduced_shape());
    // Registers have no addresses: which of them it is has to be known when the code is compiled.
    if (array && only_of(where, unrolled_)) return format("{}[{}]", *array, where.text());
  }
  return std::nullopt;
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
