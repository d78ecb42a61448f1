// Elements computed from a row's statistics, and the statistics by a loop in each thread if the kernel offers
// nothing better.
#include <algorithm>

#include "base/format.h"
#include "code/expression/pointwise.h"
#include "code/loops/emit/emitter.h"

namespace stitch::code::loops {

namespace {

constexpr int64_t most_unrolled = 32;  // elements of a row

// Whether a row is read more than once, or elements depend on its statistics.
bool looks_again(const Graph& graph, const Reduction& reduction) {
  if (reduction.grouped) return false;
  if (graph.node(reduction.node).op == Op::rms_norm) return true;
  return scheme_of(graph, reduction, false, [](std::string_view name) {
           return std::string(name);
         }).passes.size() > 1;
}

Key held_key(const Reduction& reduction, const Indices& kept) {
  return key_of(Key::held_row, reduction.operand, reduction.node, kept);
}

bool has_operand(const Node& node, size_t i) {
  return i < node.operands.size() && node.operands[i] != ValueId::none;
}

// An element of a weight, in the dtype of the data.
Expression weight(Emitter& emitter, const Node& node, size_t i, const Indices& at) {
  const Graph& graph = emitter.graph();
  return converted(emitter.value(node.operands[i], at), graph.type(node.operands[i]).dtype,
                   graph.type(node.operands[0]).dtype);
}

}  // namespace

Expressions Emitter::statistics(const Reduction& reduction, const Indices& kept) {
  size_t count = statistic_types(graph(), reduction).size();
  Expressions out;
  for (size_t i = 0; i < count; ++i)
    if (const Expression* known = scopes_.find(statistic_key(reduction, kept, i))) out.push_back(*known);
  if (out.size() == count) return out;

  // Outside the lanes of a vector, code for all lanes is not in the vector.
  bool for_all_lanes =
      std::ranges::none_of(kept, [&](const Index& index) { return index.appears(vector_.variable); });
  VectorLoop vector_before = vector_;
  auto stores_before = for_all_lanes ? std::exchange(vector_stores_, {}) : decltype(vector_stores_){};
  if (for_all_lanes) vector_ = {};
  {
    Scopes::Outside outside(scopes_, scopes_.outermost(kept));
    loads.inlined += reduction.length();
    const int64_t length = reduction.length();
    const bool varies =
        request_.context.varies([&](const Graph& at) { return reduction_of(at, reduction.node)->length(); });
    bool unrolled = length <= most_unrolled && !varies && unrollable(length, reduction.operand);
    bool held = unrolled && length > 1 && looks_again(graph(), reduction);
    if (held) hold_row(reduction, kept);
    Scheme scheme =
        scheme_of(graph(), reduction, !held, [&](std::string_view name) { return names_.unique(name); });
    Shape shape = reduction.reduced_shape();
    for (const Pass& pass : scheme.passes) {
      const Expression accumulator = named(names_.unique(graph()[reduction.operand].name + "_" + pass.name));
      add(define_variable(pass.type, accumulator->name, pass.identity));
      if (length > 0) {
        Indices reduced;
        for (int64_t size : shape) reduced.push_back(open_loop("term", 0, size, 1, size, unrolled));
        Expression x = value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
        add(pass.step(accumulator, pass.term_of(x), flatten(reduced, shape)));
        for (size_t d = 0; d < shape.size(); ++d) close();
      }
      for (const Pass::Statistic& each : pass.finish(accumulator))
        add(define_constant(each.type, each.name, each.value));
    }
    for (size_t i = 0; i < count; ++i)
      scopes_.remember(statistic_key(reduction, kept, i), scheme.statistics[i]);
    out = scheme.statistics;
  }
  if (for_all_lanes) {
    vector_ = vector_before;
    vector_stores_ = std::move(stores_before);
  }
  return out;
}

void Emitter::hold_row(const Reduction& reduction, const Indices& kept) {
  std::string array = names_.unique(graph()[reduction.operand].name + "_held");
  add(define_variable(type_of(reduction.operand), array, {}, {reduction.length()}));
  Shape shape = reduction.reduced_shape();
  Indices reduced;
  for (int64_t size : shape) reduced.push_back(open_loop("term", 0, size, 1, size, true));
  Expression x = value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
  add(assign(element(array, flatten(reduced, shape)), x));
  for (size_t d = 0; d < shape.size(); ++d) close();
  scopes_.remember(held_key(reduction, kept), named(array));
  if (std::ranges::find(held_rows_, reduction.node, &Reduction::node) == held_rows_.end())
    held_rows_.push_back(reduction);
}

std::optional<Expression> Emitter::held_element(ValueId id, const Indices& at) const {
  for (const Reduction& reduction : held_rows_) {
    if (reduction.operand != id || reduction.grouped || at.size() != reduction.space.size()) continue;
    Indices kept, reduced;
    for (size_t d = 0; d < at.size(); ++d) (reduction.along[d] ? reduced : kept).push_back(at[d]);
    const Expression* array = scopes_.find(held_key(reduction, kept));
    Index where = flatten(reduced, reduction.reduced_shape());
    // Registers have no addresses: the index must be a compile-time constant.
    if (array && std::ranges::includes(unrolled_, where.variables())) return element(*array, where);
  }
  return std::nullopt;
}

Expression reduced_element(Emitter& emitter, const Node& node, const Reduction& reduction, size_t result,
                           const Indices& at) {
  const Graph& graph = emitter.graph();
  const Expressions found = emitter.statistics(reduction, reduction.kept_of(graph, at));
  const DType dtype = graph.type(reduction.operand).dtype;
  auto operand = [&] { return emitter.value(reduction.operand, at); };
  switch (node.op) {
    case Op::softmax: {
      const Expression* held =
          emitter.scopes().find(key_of(Key::term, reduction.operand, reduction.node, at));
      return (held ? *held : standard_call("exp", dtype, {operand() - found[0]})) * found[1];
    }
    case Op::log_softmax: return operand() - found[0] - found[1];
    case Op::batch_norm: return batch_norm_element(emitter, node, at, found, result);
    case Op::layer_norm:
    case Op::rms_norm:
    case Op::group_norm: {
      Indices weight_at;
      if (node.op == Op::group_norm)
        weight_at = {at[1]};
      else
        weight_at.assign(at.end() - node.attributes.integer("dims"), at.end());
      Expression out = node.op == Op::rms_norm ? operand() * found[0] : (operand() - found[0]) * found[1];
      if (has_operand(node, 1)) out = out * weight(emitter, node, 1, weight_at);
      if (has_operand(node, 2)) out = out + weight(emitter, node, 2, weight_at);
      return out;
    }
    default: return found[0];
  }
}

namespace {

// Running statistics: result 1 is the mean, result 2 the variance.
Expression renewed_statistic(Emitter& emitter, const Node& node, const Indices& at, const Expressions& found,
                             size_t result) {
  const TensorType& x = emitter.graph().type(node.operands[0]);
  const double momentum = node.attributes.number("momentum"),
               count = static_cast<double>(x.elements() / std::max<int64_t>(x.shape[1], 1));
  const Expression before = weight(emitter, node, result == 1 ? 3 : 4, at);
  // The running variance is the sample variance, though normalisation uses the population variance.
  Expression fresh = number(momentum, x.dtype) * found[result == 1 ? 0 : 2];
  if (result == 2) fresh = fresh * number(count / (count - 1), x.dtype);
  return converted(number(1 - momentum, x.dtype) * before + fresh, x.dtype,
                   emitter.graph().type(node.results[result]).dtype);
}

}  // namespace

Expression batch_norm_element(Emitter& emitter, const Node& node, const Indices& at, const Expressions& found,
                              size_t result) {
  if (result > 0) return renewed_statistic(emitter, node, {at[0]}, found, result);
  const DType dtype = emitter.graph().type(node.operands[0]).dtype;
  const bool training = node.attributes.flag("training");
  const Indices channel = {at[1]};
  auto of_channel = [&](size_t i) { return weight(emitter, node, i, channel); };
  Scopes& scopes = emitter.scopes();
  const Key key = key_of(Key::channel_scale, node.results[0], 0, channel);
  if (!scopes.find(key)) {
    Scopes::Outside outside(scopes, scopes.outermost(channel));
    Expression inverse =
        training
            ? found[1]
            : standard_call("rsqrt", dtype, {of_channel(4) + number(node.attributes.number("eps"), dtype)});
    std::string scale = emitter.names().unique(emitter.graph()[node.results[0]].name + "_scale");
    emitter.add(define_constant(computed_type(dtype), scale,
                                has_operand(node, 1) ? of_channel(1) * inverse : inverse));
    scopes.remember(key, named(scale));
  }
  const Expression scale = *scopes.find(key), mean = training ? found[0] : of_channel(3);
  Expression out = (emitter.value(node.operands[0], at) - mean) * scale;
  if (has_operand(node, 2)) out = out + of_channel(2);
  return out;
}

}  // namespace stitch::code::loops
