// Convolutions of one image whose results are concatenated, as in a Fire module, become one convolution with
// all their filters, smaller ones padded with zeros:
//   concat(relu(conv(x, V, 1 x 1)), relu(conv(x, W, 3 x 3)))   is   relu(conv(x, [pad(V); W], 3 x 3))
// The image is read once and the results aren't copied, which alone takes half of a Fire module's time.
// Multiplying by the zeros is cheap for few channels (RewriteLimits).
// Zero times infinity is NaN next to an infinite pixel, so this is done only where every output depends on
// all pixels and is NaN anyway.
#include <algorithm>
#include <optional>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

struct Joined {
  const Node* convolution = nullptr;
  const Node* activation = nullptr;  // null: none
};

class Joining {
 public:
  Joining(Graph& graph, int64_t most_channels)
      : graph_(graph), most_channels_(most_channels), makers_(producers(graph)), users_(users(graph)) {}

  bool run() {
    std::map<ValueId, ValueId> replacement;
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const Node concat = graph_.nodes[n];
      if (auto parts = parts_of(concat)) {
        // Copies: adding nodes invalidates pointers.
        std::vector<Node> convolutions;
        for (const Joined& part : *parts) convolutions.push_back(*part.convolution);
        std::optional<Node> activation;
        if (parts->front().activation) activation = *parts->front().activation;
        replacement[concat.results[0]] = joined(concat, convolutions, activation);
      }
    }
    if (replacement.empty()) return false;
    replace_uses(graph_, replacement);
    return true;
  }

 private:
  const Node* maker_of_only_use(ValueId id) const {
    const int32_t n = makers_[index_of(id)];
    const bool wanted = std::ranges::find(graph_.outputs, id) != graph_.outputs.end() ||
                        std::ranges::find(graph_.updates, id, &Update::value) != graph_.updates.end();
    return n < 0 || wanted || users_[index_of(id)].size() != 1 ? nullptr : &graph_.node(n);
  }
  bool is_fixed(ValueId id) const {
    return graph_[id].has_data() &&
           std::ranges::find(graph_.updates, id, &Update::target) == graph_.updates.end();
  }
  static bool has_bias(const Node& node) {
    return node.operands.size() > 2 && node.operands[2] != ValueId::none;
  }

  std::optional<std::vector<Joined>> parts_of(const Node& concat) const {
    const bool pixels_are_outputs =
        std::ranges::any_of(graph_.outputs, [&](ValueId id) { return graph_.type(id).rank() > 2; });
    if (pixels_are_outputs || concat.op != Op::concat || concat.operands.size() < 2 ||
        concat.attributes.integer("dim") != 1)
      return std::nullopt;
    std::vector<Joined> out;
    for (ValueId id : concat.operands) {
      Joined part{.convolution = maker_of_only_use(id)};
      const bool activated = part.convolution && info(part.convolution->op).family == Family::pointwise &&
                             part.convolution->operands.size() == 1;
      if (activated) {
        part.activation = part.convolution;
        part.convolution = maker_of_only_use(part.activation->operands[0]);
      }
      if (!part.convolution || part.convolution->op != Op::conv || !fits(*part.convolution))
        return std::nullopt;
      out.push_back(part);
    }
    for (const Joined& part : out)
      if (!goes_with(part, out.front())) return std::nullopt;
    // The largest filter must contain the others.
    const Node& largest = *largest_of(out).convolution;
    for (const Joined& part : out)
      if (!offsets_in(*part.convolution, largest)) return std::nullopt;
    return out;
  }
  bool fits(const Node& node) const {
    const auto& dilation = node.attributes.integers("dilation");
    return node.attributes.integer("groups") == 1 &&
           graph_.type(node.operands[1]).shape[1] <= most_channels_ && is_fixed(node.operands[1]) &&
           (!has_bias(node) || is_fixed(node.operands[2])) &&
           std::ranges::all_of(dilation, [](int64_t each) { return each == 1; }) &&
           graph_.type(node.results[0]).elements() > 0;
  }
  bool goes_with(const Joined& one, const Joined& other) const {
    const Node &a = *one.convolution, &b = *other.convolution;
    const bool same_activation =
        (!one.activation && !other.activation) ||
        (one.activation && other.activation && one.activation->op == other.activation->op &&
         one.activation->attributes == other.activation->attributes);
    return same_activation && a.operands[0] == b.operands[0] && has_bias(a) == has_bias(b) &&
           a.attributes.integers("stride") == b.attributes.integers("stride") &&
           graph_.type(a.operands[1]).dtype == graph_.type(b.operands[1]).dtype &&
           (!has_bias(a) || graph_.type(a.operands[2]).dtype == graph_.type(b.operands[2]).dtype);
  }
  const Joined& largest_of(const std::vector<Joined>& parts) const {
    return *std::ranges::max_element(parts, {}, [&](const Joined& part) {
      const Shape& weight = graph_.type(part.convolution->operands[1]).shape;
      return element_count({weight.begin() + 1, weight.end()});
    });
  }
  // Padding before and after each dimension of a filter so that it sees the same pixels as the larger one.
  std::optional<std::vector<int64_t>> offsets_in(const Node& node, const Node& larger) const {
    const Shape &own = graph_.type(node.operands[1]).shape, &room = graph_.type(larger.operands[1]).shape;
    const auto &padding = node.attributes.integers("padding"), &most = larger.attributes.integers("padding");
    std::vector<int64_t> pads = {0, 0, 0, 0};
    for (size_t d = 0; d < padding.size(); ++d) {
      const int64_t before = most[d] - padding[d], behind = room[d + 2] - own[d + 2] - before;
      if (before < 0 || behind < 0) return std::nullopt;
      pads.insert(pads.end(), {before, behind});
    }
    return pads;
  }

  ValueId joined(const Node& concat, const std::vector<Node>& convolutions,
                 const std::optional<Node>& activation) {
    const std::string name = graph_[concat.results[0]].name;
    std::vector<Joined> parts;
    for (const Node& each : convolutions) parts.push_back({&each, nullptr});
    const Node& largest = *largest_of(parts).convolution;
    Builder builder(graph_, largest);
    std::vector<ValueId> weights, biases;
    for (const Node& each : convolutions) {
      const std::vector<int64_t> pads = *offsets_in(each, largest);
      const bool padded = std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; });
      weights.push_back(padded
                            ? builder.add(Op::pad, {each.operands[1]}, {{"pads", pads}}, name + ".amid_zeros")
                            : each.operands[1]);
      if (has_bias(each)) biases.push_back(each.operands[2]);
    }
    std::vector<ValueId> operands = {
        largest.operands[0], builder.add(Op::concat, weights, {{"dim", int64_t{0}}}, name + ".weight")};
    if (!biases.empty())
      operands.push_back(builder.add(Op::concat, biases, {{"dim", int64_t{0}}}, name + ".bias"));
    // The reference's rounding data refers to these names.
    const ValueId product =
        builder.add(Op::conv, operands, largest.attributes, activation ? name + ".joined" : name);
    return activation ? builder.add(activation->op, {product}, activation->attributes, name) : product;
  }

  Graph& graph_;
  const int64_t most_channels_;
  const std::vector<int32_t> makers_;
  const std::vector<std::vector<int32_t>> users_;
};

}  // namespace

bool join_convolutions(Graph& graph, const RewriteLimits& limits) {
  return Joining(graph, limits.joined_channels).run();
}

}  // namespace stitch
