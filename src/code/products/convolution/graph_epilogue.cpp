#include "code/products/convolution/conv_cudnn.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"

namespace stitch::code {

namespace {

// A step before it is text: its operand is another step, an outside value or a number.
struct GraphStep {
  std::string mode;
  int first = -1;  // the convolution
  std::optional<int> second;
  ValueId outside = ValueId::none;
  std::optional<double> number;
  std::optional<double> upper;
};

// A constant of any shape that the region creates itself.
std::optional<double> number_inside(const Graph& graph, const plan::Region& region, ValueId value) {
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    if (node.op == Op::full && node.results[0] == value) return node.attributes.number("value");
  }
  return std::nullopt;
}

class GraphSteps {
 public:
  GraphSteps(const Graph& graph, const plan::Region& region, const Parts& parts)
      : graph_(graph), region_(region), parts_(parts) {
    known_[parts.product->results[0]] = -1;
  }

  // False: unsupported by graphs.
  bool write() {
    const std::vector<ValueId>& operands = parts_.product->operands;
    if (operands.size() > 2 && operands[2] != ValueId::none) add({.mode = "ADD", .outside = operands[2]});
    known_[parts_.product->results[0]] = last();
    for (const Node* node : parts_.after) {
      if (!write(*node)) return false;
      known_[node->results[0]] = last();
    }
    return !steps_.empty();
  }
  const std::vector<GraphStep>& steps() const { return steps_; }

 private:
  int last() const { return static_cast<int>(steps_.size()) - 1; }
  int add(GraphStep step) {
    steps_.push_back(std::move(step));
    return last();
  }
  std::optional<int> known(ValueId value) const {
    auto found = known_.find(value);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  bool write(const Node& node) {
    switch (node.op) {
      case Op::add: return write_pair(node, "ADD", true);
      case Op::mul: return write_pair(node, "MUL", true);
      case Op::sub: return write_pair(node, "SUB", false);
      case Op::relu: return write_one(node, {.mode = "RELU_FWD"});
      case Op::sigmoid: return write_one(node, {.mode = "SIGMOID_FWD"});
      case Op::tanh: return write_one(node, {.mode = "TANH_FWD"});
      case Op::silu: return write_one(node, {.mode = "SWISH_FWD"});
      case Op::gelu:
        return write_one(node, {.mode = node.attributes.text("approximate") == "tanh" ? "GELU_APPROX_TANH_FWD"
                                                                                      : "GELU_FWD"});
      case Op::clamp: return write_clamp(node);
      case Op::hardsigmoid:
      case Op::hardswish: return write_hard(node);
      default: return false;
    }
  }

  bool write_one(const Node& node, GraphStep step) {
    auto first = known(node.operands[0]);
    if (!first || graph_.type(node.results[0]).dtype != graph_.type(parts_.product->results[0]).dtype)
      return false;
    step.first = *first;
    add(std::move(step));
    return true;
  }

  bool write_clamp(const Node& node) {
    const double low = node.attributes.number("low"), high = node.attributes.number("high");
    GraphStep step{.mode = "RELU_FWD"};
    if (std::isfinite(high)) step.upper = high;
    return low == 0 && high > 0 && write_one(node, std::move(step));
  }

  // x min(max(x + 3, 0), 6) / 6, and the same without the first factor.
  bool write_hard(const Node& node) {
    auto x = known(node.operands[0]);
    if (!x || !write_one(node, {.mode = "ADD", .number = 3})) return false;
    add({.mode = "RELU_FWD", .first = last(), .upper = 6});
    if (node.op == Op::hardswish) {
      if (*x < 0) return false;  // the convolution's own result has no step number
      add({.mode = "MUL", .first = last(), .second = *x});
    }
    add({.mode = "MUL", .first = last(), .number = 1.0 / 6});
    return true;
  }

  bool write_pair(const Node& node, const char* mode, bool commutes) {
    auto left = known(node.operands[0]), right = known(node.operands[1]);
    if (!left && !commutes) return false;
    if (left && right) {
      if (*right < 0) std::swap(left, right);
      if (*right < 0 || (!commutes && left != known(node.operands[0]))) return false;
      add({.mode = mode, .first = *left, .second = *right});
      return true;
    }
    const ValueId other = node.operands[left ? 1 : 0];
    GraphStep step{.mode = mode, .first = left ? *left : *right};
    if (auto number = number_inside(graph_, region_, other))
      step.number = *number;
    else if (fits(other))
      step.outside = other;
    else
      return false;
    add(std::move(step));
    return true;
  }

  // One per channel (of each sample), or one per element.
  bool fits(ValueId other) const {
    const Shape &whole = graph_.type(parts_.product->results[0]).shape, &own = graph_.type(other).shape;
    if (own == whole) return true;
    if (own.size() != whole.size() || own[1] != whole[1] || (own[0] != 1 && own[0] != whole[0])) return false;
    return std::all_of(own.begin() + 2, own.end(), [](int64_t size) { return size == 1; });
  }

  const Graph& graph_;
  const plan::Region& region_;
  const Parts& parts_;
  std::map<ValueId, int> known_;
  std::vector<GraphStep> steps_;
};

std::string cudnn_type(DType dtype) {
  return dtype == DType::f16    ? "CUDNN_DATA_HALF"
         : dtype == DType::bf16 ? "CUDNN_DATA_BFLOAT16"
                                : "CUDNN_DATA_FLOAT";
}

constexpr size_t most_graph_steps = 16, most_graph_operands = 8;

}  // namespace

bool has_graph_epilogue(const Graph& graph, const plan::Region& region, const Parts& parts) {
  GraphSteps steps(graph, region, parts);
  return steps.write() && steps.steps().size() <= most_graph_steps;
}

std::optional<GraphEpilogue> graph_epilogue_of(const RegionRequest& request, const Parts& parts,
                                               const Convolution& c) {
  GraphSteps steps(request.graph, request.region, parts);
  if (!steps.write() || steps.steps().size() > most_graph_steps) return std::nullopt;
  const Shape& whole = request.graph.type(parts.product->results[0]).shape;
  GraphEpilogue out;
  for (const GraphStep& step : steps.steps()) {
    std::string text = format("CUDNN_POINTWISE_{}, {}", step.mode, step.first);
    if (step.second) text += format(", stitch::FusedStep::step, {}", *step.second);
    if (step.number) text += format(", stitch::FusedStep::constant, 0, {}f", number_text(*step.number));
    if (step.upper) text += format(", stitch::FusedStep::nothing, 0, 0.0f, {}", number_text(*step.upper));
    if (step.outside != ValueId::none) {
      auto view = find_view(request, step.outside);
      if (!view || view->offset != 0) return std::nullopt;
      const DType dtype = view->place->dtype;
      if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) return std::nullopt;
      const bool per_pixel = view->shape == whole && c.positions() > 1,
                 per_sample = view->shape.size() == whole.size() && view->shape[0] > 1;
      if (per_pixel ? !channels_last(c, *view) : !view->contiguous()) return std::nullopt;
      text += format(", stitch::FusedStep::operand, {}", out.places.size());
      out.operands.push_back(format("{{{}, {}, {}}}", cudnn_type(dtype), per_sample, per_pixel));
      out.places.push_back(view->place);
    }
    out.steps.push_back("{" + text + "}");
  }
  if (out.places.size() > most_graph_operands) return std::nullopt;
  return out;
}

}  // namespace stitch::code
