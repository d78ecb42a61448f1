#include "verify/adequacy/graph_mutants.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/text.h"
#include "oracle/interpreter.h"
#include "verify/adequacy/neighbours.h"
#include "verify/adequacy/ranges.h"

namespace stitch::verifier {

namespace {

using oracle::Tensor;

std::string place(const Graph& graph, const Node& node) {
  const std::string name = format("{} '{}'", info(node.op).name, graph[node.results[0]].name);
  const std::string where = node.where.substr(0, node.where.find(','));  // without the source line
  return where.empty() ? name : format("{} ({})", name, where);
}

Tensor mapped(const Tensor& tensor, double (*formula)(double)) {
  Tensor out(tensor.dtype(), tensor.shape());
  const double* from = tensor.data<double>();
  double* to = out.writable<double>();
  for (int64_t i = 0; i < tensor.elements(); ++i) to[i] = formula(from[i]);
  return out;
}

// The dimension of the first operand that a node goes along.
size_t dimension_of(const Node& node, int64_t rank) {
  int64_t dim = rank - 1;
  if (info(node.op).family == Family::convolution) dim = 1;
  if (node.attributes.find("dim")) dim = node.attributes.integer("dim");
  if (info(node.op).family == Family::reduce && !node.attributes.integers("dims").empty())
    dim = node.attributes.integers("dims").back();
  return static_cast<size_t>(dim < 0 ? dim + rank : dim);
}

Tensor moved_by_one(const Tensor& tensor) {
  Tensor out(tensor.dtype(), tensor.shape());
  oracle::with_element(tensor.dtype(), [&]<class T>(T) {
    const T* from = tensor.data<T>();
    T* to = out.writable<T>();
    for (int64_t i = 0; i < tensor.elements(); ++i)
      to[i] = tensor.dtype() == DType::boolean ? static_cast<T>(from[i] == 0) : from[i] + 1;
  });
  return out;
}

// Whether the node would be one of this graph, with results of the same types.
bool fits(const Graph& graph, const Node& changed) {
  const auto types = infer(graph, changed);
  if (!types || types->size() != changed.results.size()) return false;
  for (size_t i = 0; i < types->size(); ++i)
    if ((*types)[i].dtype != graph.type(changed.results[i]).dtype ||
        (*types)[i].shape != graph.type(changed.results[i]).shape)
      return false;
  return true;
}

// A window with another step or distance between its elements gets the padding that leaves as many of them.
bool fits_padded(const Graph& graph, Node& changed) {
  if (fits(graph, changed)) return true;
  if (!changed.attributes.find("padding") || !changed.attributes.find("stride")) return false;
  const std::vector<int64_t> padding = changed.attributes.integers("padding");
  const Shape& from = graph.type(changed.operands[0]).shape;
  for (size_t i = 0; i < padding.size(); ++i)
    for (int64_t other = 0; other <= from[i + 2]; ++other) {
      std::vector<int64_t> padded = padding;
      padded[i] = other;
      changed.attributes.set("padding", std::move(padded));
      if (fits(graph, changed)) return true;
    }
  return false;
}

// The same node with other attributes, or another op on the same operands.
Instead evaluated_as(Node changed) {
  return [changed = std::move(changed)](const Evaluated& at) {
    std::vector<const Tensor*> operands(at.operands.begin(), at.operands.end());
    for (size_t i = 0; i < operands.size(); ++i)
      if (changed.operands[i] == ValueId::none) operands[i] = nullptr;
    return oracle::evaluate_node(at.graph, changed, operands);
  };
}

Instead with_operand(size_t index, std::function<Tensor(const Evaluated&)> change) {
  return [index, change = std::move(change)](const Evaluated& at) {
    std::vector<const Tensor*> operands(at.operands.begin(), at.operands.end());
    const Tensor changed = change(at);
    operands[index] = &changed;
    return oracle::evaluate_node(at.graph, at.node, operands);
  };
}

// What an author may have in place of a number: an epsilon by a factor of ten, a bound that is not there,
// anything else by a sixty-fourth.
std::vector<double> other_numbers(std::string_view name, double value) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), moved = 1 + 0x1p-6, little = 1e-2;
  if (!std::isfinite(value)) return {};
  if (name == "correction") return {1 - value};
  if (name == "soft_cap" && value == 0) return {};
  std::vector<double> out;
  if (name == "low" || name == "high") out.push_back(name == "low" ? -infinity : infinity);
  if (name == "eps") out.push_back(0);
  if (value == 0)
    out.push_back(0x1p-6);
  else if (std::fabs(value) < little)
    out.insert(out.end(), {10 * value, value / 10});
  else
    out.push_back(value * moved);
  return out;
}

std::vector<AttributeValue> other_values(const Node& node, const std::string& name,
                                         const AttributeValue& value) {
  std::vector<AttributeValue> out;
  switch (kind_of(value)) {
    case AttributeKind::flag: out.push_back(!std::get<bool>(value)); break;
    case AttributeKind::integer:
      if (name == "groups") {
        for (int64_t groups : {int64_t{1}, 2 * std::get<int64_t>(value), std::get<int64_t>(value) / 2})
          out.push_back(groups);
        break;
      }
      for (int64_t by : {1, -1}) out.push_back(std::get<int64_t>(value) + by);
      break;
    case AttributeKind::number:
      if (node.attributes.find("dtype") && !is_floating(node.attributes.dtype("dtype")))
        out.push_back(std::get<double>(value) + 1);
      else
        for (double other : other_numbers(name, std::get<double>(value))) out.push_back(other);
      break;
    case AttributeKind::text:
      for (const OtherText& other : other_texts())
        if (other.op == node.op && other.attribute == name &&
            std::string(other.instead) != std::get<std::string>(value))
          out.push_back(std::string(other.instead));
      break;
    case AttributeKind::integers: {
      // Neighbours in a permutation exchanged; each number moved by one.
      const auto& list = std::get<std::vector<int64_t>>(value);
      for (size_t i = 0; i < list.size(); ++i) {
        if (node.op == Op::permute) {
          if (i + 1 == list.size()) break;
          std::vector<int64_t> changed = list;
          std::swap(changed[i], changed[i + 1]);
          out.push_back(std::move(changed));
          continue;
        }
        for (int64_t by : {-1, 1}) {
          std::vector<int64_t> changed = list;
          changed[i] += by;
          if (by < 0 ? list[i] > 0 : list[i] <= 0 || name == "stride" || name == "dilation")
            out.push_back(std::move(changed));
        }
      }
      break;
    }
    default: break;
  }
  return out;
}

std::string shown(const AttributeValue& value) {
  if (const double* number = std::get_if<double>(&value)) return format("{:.4g}", *number);
  return text(value);
}

// What can make no difference, whatever the operands are.
bool is_idle(const Graph& graph, const Node& node, std::string_view attribute) {
  if (attribute == "momentum") return !node.attributes.flag("training");
  // Without a mask every row keeps something.
  if (attribute == "weights" && node.op == Op::attention)
    return node.attributes.text("weights") != "relu" &&
           (node.operands.size() < 4 || node.operands[3] == ValueId::none);
  // It says what may be left open.
  if (attribute == "stable") return true;
  // Windows of the same number are the same windows.
  if (attribute == "ceil") return true;
  if (attribute == "step" && node.op == Op::slice)
    return graph.type(node.results[0])
               .shape[static_cast<size_t>(
                   (node.attributes.integer("dim") + graph.type(node.operands[0]).rank()) %
                   graph.type(node.operands[0]).rank())] == 1;
  return false;
}

// Values that nothing reads but branches, and what makes those.
std::vector<bool> behind_branches(const Graph& graph) {
  std::vector<bool> out(graph.values.size());
  std::vector<bool> elsewhere(graph.values.size());
  for (ValueId id : graph.outputs) elsewhere[index_of(id)] = true;
  for (const Update& update : graph.updates) elsewhere[index_of(update.value)] = true;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const bool inside = std::ranges::all_of(
        node.results, [&](ValueId id) { return out[index_of(id)] && !elsewhere[index_of(id)]; });
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId id = node.operands[i];
      if (id == ValueId::none) continue;
      const bool is_branch = node.op == Op::where && i > 0;
      (inside || is_branch ? out : elsewhere)[index_of(id)] = true;
    }
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = out[i] && !elsewhere[i];
  return out;
}

class Maker {
 public:
  explicit Maker(const Graph& graph)
      : graph_(graph), ranges_(ranges_of(graph)), behind_(behind_branches(graph)), users_(users(graph)) {}

  std::vector<GraphMutant> make() {
    for (ValueId id : graph_.leaves()) leaf(id);
    for (const Node& node : graph_.nodes) {
      left_out(node);
      attributes(node);
      moved(node);
      operands(node);
      exchanged(node);
      decided(node);
      of_table(node);
      whatever(node);
    }
    return std::move(out_);
  }

 private:
  void leaf(ValueId id) {
    const Value& value = graph_[id];
    const bool moves = is_floating(value.type.dtype);
    auto add = [&](LeafChange change, std::string_view what) {
      out_.push_back({.leaf = id,
                      .change = change,
                      .where = format("{} '{}'", name(value.role), value.name),
                      .what = std::string(what)});
    };
    // What the model's own code holds is no other in any call.
    if (value.role == Role::constant || value.type.elements() == 0 || !is_used(id)) return;
    add(LeafChange::frozen, value.has_data() ? "as the task has it" : "as it was once");
    if (!value.has_data() && value.type.rank() > 1 && value.type.shape[0] > 1)
      add(LeafChange::first, "with its first sample for all");
    if (value.type.dtype == DType::boolean) {
      add(LeafChange::zeros, "as false");
      add(LeafChange::ones, "as true");
    }
    if (value.type.dtype != DType::boolean) add(LeafChange::zeros, moves ? "ignored" : "as zeros");
    if (!moves) return;
    if (value.type.elements() < 2) return;
    add(LeafChange::mean, "by its mean");
    const Shape& shape = value.type.shape;
    if (value.has_data() && shape.size() == 2 && shape[0] == shape[1])
      add(LeafChange::identity, "as the identity");
  }

  bool is_used(ValueId id) const {
    return !users_[index_of(id)].empty() || std::ranges::find(graph_.outputs, id) != graph_.outputs.end() ||
           std::ranges::find(graph_.updates, id, &Update::value) != graph_.updates.end();
  }

  // Squares and magnitudes have no sign.
  bool loses_its_sign(ValueId id) const {
    const std::vector<int32_t>& readers = users_[index_of(id)];
    return !readers.empty() && std::ranges::all_of(readers, [&](int32_t n) {
      const Node& node = graph_.node(n);
      return node.op == Op::abs || node.op == Op::norm ||
             (node.op == Op::mul && node.operands[0] == node.operands[1]);
    });
  }

  void add(const Node& node, std::string what, Instead instead) {
    out_.push_back({.node = graph_.number_of(node),
                    .instead = std::move(instead),
                    .where = place(graph_, node),
                    .what = std::move(what)});
  }

  void left_out(const Node& node) {
    const Family family = info(node.op).family;
    if (node.results.size() != 1 || node.op == Op::cast || node.op == Op::reshape || node.op == Op::expand ||
        node.operands.empty() || node.operands[0] == ValueId::none || does_nothing(node))
      return;
    if (node.op == Op::where)
      for (int taken : {1, 2}) {
        add(node, format("left out, with '{}' alone", graph_[node.operands[static_cast<size_t>(taken)]].name),
            with_operand(0, [taken](const Evaluated& at) { return filled(*at.operands[0], taken == 1); }));
        out_.back().taken = taken;
      }
    for (size_t i = 0; i < node.operands.size() && node.op != Op::where; ++i) {
      const ValueId id = node.operands[i];
      if (id == ValueId::none || graph_.type(id).dtype != graph_.type(node.results[0]).dtype ||
          graph_.type(id).shape != graph_.type(node.results[0]).shape)
        continue;
      if (i > 0 && family != Family::pointwise && node.op != Op::concat) break;
      add(node, node.operands.size() == 1 ? "left out" : format("left out, with '{}' alone", graph_[id].name),
          [i](const Evaluated& at) -> Result<std::vector<Tensor>> {
            return std::vector<Tensor>{*at.operands[i]};
          });
    }
  }

  void attributes(const Node& node) {
    for (const auto& [name, value] : node.attributes) {
      if (is_idle(graph_, node, name)) continue;
      for (AttributeValue& other : other_values(node, name, value)) {
        Node changed = node;
        changed.attributes.set(name, other);
        const bool windows = name == "stride" || name == "dilation";
        if (same(other, value) || is_same_dimension(node, name, other) ||
            (windows && is_idle_window(node, name, other)) ||
            !(windows ? fits_padded(graph_, changed) : fits(graph_, changed)) || is_unreached(node, changed))
          continue;
        add(node, format("with {} {} for {}", name, shown(other), shown(value)),
            evaluated_as(std::move(changed)));
      }
    }
  }

  // Of one element there is no next one.
  bool is_idle_window(const Node& node, const std::string& name, const AttributeValue& other) const {
    const auto& before = node.attributes.integers(name);
    const auto& after = std::get<std::vector<int64_t>>(other);
    const bool pools = info(node.op).family == Family::pool;
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i] != after[i])
        return 1 == (name == "stride" ? graph_.type(node.results[0]).shape[i + 2]
                     : pools          ? node.attributes.integers("kernel")[i]
                                      : graph_.type(node.operands[1]).shape[i + 2]);
    return false;
  }

  Range range_of(ValueId id) const { return ranges_[index_of(id)]; }

  // Bounds that nothing comes near to, moved.
  bool is_unreached(const Node& node, const Node& changed) const {
    if (node.op != Op::clamp) return false;
    const Range x = range_of(node.operands[0]);
    return x.within(node.attributes.number("low"), node.attributes.number("high")) &&
           x.within(changed.attributes.number("low"), changed.attributes.number("high"));
  }

  // What leaves everything that it is given as it is.
  bool does_nothing(const Node& node) const {
    const Range x = range_of(node.operands[0]);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (node.op == Op::clamp) return x.within(node.attributes.number("low"), node.attributes.number("high"));
    return (node.op == Op::relu || node.op == Op::abs || node.op == Op::leaky_relu) && x.within(0, infinity);
  }

  // Counted from the other end.
  bool is_same_dimension(const Node& node, const std::string& name, const AttributeValue& other) const {
    const int64_t* dim = std::get_if<int64_t>(&other);
    return name == "dim" && dim &&
           (*dim - node.attributes.integer("dim")) % graph_.type(node.operands[0]).rank() == 0;
  }

  // A window of the same size; one half for every second element, as of pairs that lie beside each other.
  void moved(const Node& node) {
    if (node.op != Op::slice) return;
    const int64_t rank = graph_.type(node.operands[0]).rank(), dim = node.attributes.integer("dim"),
                  size = graph_.type(node.operands[0]).shape[static_cast<size_t>(dim < 0 ? dim + rank : dim)],
                  start = node.attributes.integer("start"), step = node.attributes.integer("step");
    if (size % 2 == 0 && size > 2 &&
        (step == 2 ? start < 2 : step == 1 && (start == 0 || start == size / 2))) {
      Node changed = node;
      const bool second = start > 0;
      changed.attributes.set("step", int64_t{3} - step);
      changed.attributes.set("start", step == 1 ? int64_t{second} : second ? size / 2 : 0);
      changed.attributes.set("end", step == 2 && !second ? size / 2 : size);
      if (fits(graph_, changed))
        add(node, step == 1 ? "of every second element for a half" : "of a half for every second element",
            evaluated_as(std::move(changed)));
    }
    for (int64_t by : {1, -1}) {
      Node changed = node;
      for (const char* end : {"start", "end"}) changed.attributes.set(end, node.attributes.integer(end) + by);
      if (changed.attributes.integer("start") < 0 || !fits(graph_, changed)) continue;
      add(node, format("moved by {}", by), evaluated_as(std::move(changed)));
    }
  }

  void operands(const Node& node) {
    const OpInfo& op = info(node.op);
    for (size_t i = 0; i < node.operands.size() && i < op.operands.size(); ++i) {
      if (node.operands[i] == ValueId::none || op.operands[i].kind != OperandSpec::optional) continue;
      Node changed = node;
      changed.operands[i] = ValueId::none;
      if (fits(graph_, changed))
        add(node, format("without its {}", op.operands[i].name), evaluated_as(std::move(changed)));
    }
  }

  void exchanged(const Node& node) {
    const bool ordered = node.op == Op::sub || node.op == Op::div || node.op == Op::pow ||
                         node.op == Op::atan2 || node.op == Op::fmod || node.op == Op::remainder ||
                         node.op == Op::concat;
    if (!ordered || node.operands.size() < 2 || node.operands[0] == node.operands[1] ||
        (node.op == Op::sub && loses_its_sign(node.results[0])))
      return;
    Node changed = node;
    std::swap(changed.operands[0], changed.operands[1]);
    if (!fits(graph_, changed)) return;
    add(node, "with its first operands exchanged", [changed](const Evaluated& at) {
      std::vector<const Tensor*> operands(at.operands.begin(), at.operands.end());
      std::swap(operands[0], operands[1]);
      return oracle::evaluate_node(at.graph, changed, operands);
    });
  }

  // A branch that is always taken, or never.
  void decided(const Node& node) {
    if (node.results.size() != 1 || graph_.type(node.results[0]).dtype != DType::boolean ||
        info(node.op).family != Family::pointwise || node.op == Op::cast)
      return;
    for (bool always : {true, false})
      add(node, always ? "always" : "never", [always](const Evaluated& at) -> Result<std::vector<Tensor>> {
        return std::vector<Tensor>{filled(at.results[0], always)};
      });
  }

  bool has_two_tensors(const Node& node) const {
    const TensorType& type = graph_.type(node.results[0]);
    return is_floating(type.dtype) && graph_.type(node.operands[1]).shape == type.shape &&
           graph_.type(node.operands[2]).shape == type.shape;
  }

  void of_table(const Node& node) {
    // A cast moves nothing but floats that become integers.
    if (node.op == Op::cast && (is_floating(graph_.type(node.results[0]).dtype) ||
                                !is_floating(graph_.type(node.operands[0]).dtype)))
      return;
    // With given statistics nothing is averaged.
    const bool averages = node.op != Op::batch_norm || node.attributes.flag("training");
    for (const Neighbour& neighbour : neighbours()) {
      if (neighbour.op != node.op || (!averages && std::holds_alternative<Computed>(neighbour.change)))
        continue;
      // Formulas are of floats, and branches are compared element by element.
      if (node.op == Op::where
              ? !has_two_tensors(node)
              : info(node.op).family == Family::pointwise && !std::holds_alternative<Op>(neighbour.change) &&
                    !std::holds_alternative<OfInteger>(neighbour.change) &&
                    !is_floating(graph_.type(node.operands[0]).dtype))
        continue;
      std::optional<Instead> instead = instead_of(node, neighbour);
      if (instead) add(node, std::string(neighbour.what), *std::move(instead));
    }
  }

  // Work behind a branch alone: does anything depend on it?
  void whatever(const Node& node) {
    if (!behind_[index_of(node.results[0])]) return;
    add(node, "whatever it gives", [](const Evaluated& at) -> Result<std::vector<Tensor>> {
      std::vector<Tensor> out;
      for (const Tensor& result : at.results) out.push_back(moved_by_one(result));
      return out;
    });
    out_.back().last_resort = true;
  }

  std::optional<Instead> instead_of(const Node& node, const Neighbour& neighbour) const {
    if (const Op* op = std::get_if<Op>(&neighbour.change)) {
      Node changed = node;
      changed.op = *op;
      const auto attributes = complete(info(*op), *op == node.op ? node.attributes : common(node, *op));
      if (!attributes) return {};
      changed.attributes = *attributes;
      if (!fits(graph_, changed)) return {};
      return evaluated_as(std::move(changed));
    }
    if (const OfResult* of = std::get_if<OfResult>(&neighbour.change)) {
      if (!is_floating(graph_.type(node.results[0]).dtype) ||
          range_of(node.results[0]).is_fixed_by(of->formula))
        return {};
      return [formula = of->formula](const Evaluated& at) -> Result<std::vector<Tensor>> {
        std::vector<Tensor> out(at.results.begin(), at.results.end());
        out[0] = mapped(out[0], formula);
        return out;
      };
    }
    if (const OfOperand* of = std::get_if<OfOperand>(&neighbour.change)) {
      if (!is_floating(graph_.type(node.operands[0]).dtype) ||
          range_of(node.operands[0]).is_fixed_by(of->formula))
        return {};
      return with_operand(
          0, [formula = of->formula](const Evaluated& at) { return mapped(*at.operands[0], formula); });
    }
    if (const OfInteger* of = std::get_if<OfInteger>(&neighbour.change)) {
      const DType dtype = graph_.type(node.results[0]).dtype;
      if (is_floating(dtype) || dtype == DType::boolean) return {};
      return [formula = of->formula](const Evaluated& at) -> Result<std::vector<Tensor>> {
        std::vector<Tensor> out(at.results.begin(), at.results.end());
        out[0] = out[0].copy();
        int64_t* values = out[0].writable<int64_t>();
        for (int64_t i = 0; i < out[0].elements(); ++i)
          values[i] = oracle::wrapped(formula(values[i]), out[0].dtype());
        return out;
      };
    }
    if (const LastIs* last = std::get_if<LastIs>(&neighbour.change)) {
      const Shape& shape = graph_.type(node.operands[0]).shape;
      if (const size_t axis = dimension_of(node, std::ssize(shape)); axis >= shape.size() || shape[axis] < 2)
        return {};
      return with_operand(0, [value = last->value](const Evaluated& at) {
        return with_last(*at.operands[0], dimension_of(at.node, at.operands[0]->rank()), value);
      });
    }
    return Instead(std::get<Computed>(neighbour.change));
  }

  // Of its attributes those that the other op has, too.
  static Attributes common(const Node& node, Op op) {
    Attributes out;
    for (const auto& [name, value] : node.attributes)
      if (std::ranges::any_of(info(op).attributes,
                              [&](const AttributeSpec& spec) { return spec.name == name; }))
        out.set(name, value);
    return out;
  }

  const Graph& graph_;
  const std::vector<Range> ranges_;
  const std::vector<bool> behind_;
  const std::vector<std::vector<int32_t>> users_;
  std::vector<GraphMutant> out_;
};

}  // namespace

oracle::Tensor filled(const oracle::Tensor& like, double value) {
  Tensor out(like.dtype(), like.shape());
  oracle::with_element(like.dtype(), [&]<class T>(T) {
    std::fill_n(out.writable<T>(), out.elements(), static_cast<T>(value));
  });
  return out;
}

oracle::Tensor with_last(const oracle::Tensor& tensor, size_t axis, double value) {
  Tensor out = tensor.copy();
  const int64_t size = tensor.shape()[axis], stride = contiguous_strides(tensor.shape())[axis];
  oracle::with_element(tensor.dtype(), [&]<class T>(T) {
    // Of integers the least or the largest is as good as an infinity.
    const T last = std::is_same_v<T, double> || std::isfinite(value) ? static_cast<T>(value)
                   : value < 0                                       ? std::numeric_limits<T>::lowest()
                                                                     : std::numeric_limits<T>::max();
    T* to = out.writable<T>();
    for (int64_t i = 0; i < tensor.elements(); ++i)
      if (i / stride % size == size - 1) to[i] = last;
  });
  return out;
}

std::vector<GraphMutant> mutants_of(const Graph& graph) { return Maker(graph).make(); }

}  // namespace stitch::verifier
