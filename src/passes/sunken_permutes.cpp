// Networks that apply linear layers to pixels transpose images to NHWC and back around every block and add
// the result to an NCHW image. Pointwise ops on transposed tensors are moved before the transposition, so
// that the residual stream stays NHWC from block to block:
//   permute(a) * scale + permute(b)   is   permute(a * scale' + b)
// Only where a consumer transposes the result back, or is a depthwise convolution.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

// NHWC to NCHW, for any rank.
std::vector<int64_t> to_first(int64_t rank) {
  std::vector<int64_t> dims = {0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; ++d) dims.push_back(d);
  return dims;
}
std::vector<int64_t> to_last(int64_t rank) {
  std::vector<int64_t> dims = {0};
  for (int64_t d = 2; d < rank; ++d) dims.push_back(d);
  dims.push_back(1);
  return dims;
}

class Sinking {
 public:
  explicit Sinking(Graph& graph)
      : graph_(graph), makers_(producers(graph)), users_(users(graph)), sinks_(graph.nodes.size()) {}

  bool run() {
    decide();
    if (std::ranges::none_of(sinks_, [](bool sinks) { return sinks; })) return false;
    const size_t count = sinks_.size();
    for (size_t n = 0; n < count; ++n)
      if (sinks_[n]) sink(Node(graph_.nodes[n]));
    for (size_t n = 0; n < count; ++n) read_from_there(n);
    replace_uses(graph_, replacement_);
    return true;
  }

 private:
  const Node* maker(ValueId id) const {
    const int32_t n = id == ValueId::none ? -1 : makers_[index_of(id)];
    return n < 0 ? nullptr : &graph_.node(n);
  }
  bool is_permute(const Node& node, std::vector<int64_t> (*order)(int64_t)) const {
    return node.op == Op::permute &&
           node.attributes.integers("dims") == order(graph_.type(node.results[0]).rank());
  }
  bool is_image(const Node& node) const {
    const int64_t rank = graph_.type(node.results[0]).rank();
    return rank == 4 || rank == 5;
  }
  bool has_shape_of(ValueId id, const Node& node) const {
    return id != ValueId::none && graph_.type(id).shape == graph_.type(node.results[0]).shape;
  }
  bool computes_elements(const Node& node) const {
    return info(node.op).family == Family::pointwise && node.results.size() == 1 && is_image(node) &&
           std::ranges::none_of(node.operands, [](ValueId id) { return id == ValueId::none; });
  }
  bool is_depthwise(const Node& node) const {
    return node.op == Op::conv && node.attributes.integer("groups") > 1 &&
           node.attributes.integer("groups") == graph_.type(node.operands[0]).shape[1];
  }

  // Which nodes move before a permutation: those that read a permuted tensor, or the result of such a node,
  // and whose result is wanted in NHWC.
  void decide() {
    std::vector<bool> reads(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      reads[n] = computes_elements(node) && std::ranges::any_of(node.operands, [&](ValueId id) {
                   const Node* from = has_shape_of(id, node) ? maker(id) : nullptr;
                   return from && (is_permute(*from, to_first) || reads[static_cast<size_t>(from - first())]);
                 });
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (!reads[n]) continue;
      const ValueId own = graph_.nodes[n].results[0];
      sinks_[n] = std::ranges::any_of(users_[index_of(own)], [&](int32_t u) {
        const Node& user = graph_.node(u);
        return is_permute(user, to_last) || (is_depthwise(user) && user.operands[0] == own) ||
               sinks_[static_cast<size_t>(u)];
      });
    }
  }
  const Node* first() const { return graph_.nodes.data(); }

  // An operand that the node reads in NCHW, converted to NHWC.
  ValueId in_last(Builder& builder, ValueId id, const Node& node) {
    if (auto known = last_.find(id); known != last_.end()) return known->second;
    const int64_t rank = graph_.type(node.results[0]).rank();
    const Node* from = has_shape_of(id, node) ? maker(id) : nullptr;
    if (from && is_permute(*from, to_first)) return from->operands[0];
    Shape shape = graph_.type(id).shape;
    if (element_count(shape) == 1) return id;
    shape.insert(shape.begin(), static_cast<size_t>(rank) - shape.size(), 1);
    const std::string name = graph_[id].name;
    // Along channels only: like a bias.
    if (element_count(shape) == shape[1])
      return last_[id] = builder.add(Op::reshape, {id}, {{"shape", Shape{shape[1]}}}, name + ".by_channel");
    ValueId whole = id;
    if (shape != graph_.type(id).shape)
      whole = builder.add(Op::reshape, {id}, {{"shape", shape}}, name + ".whole");
    const bool convolved = from && from->op == Op::conv && !is_output(id);
    const ValueId pixels = builder.add(Op::permute, {whole}, {{"dims", to_last(rank)}}, name + ".pixels");
    // A convolution writes it in that order; all readers use that copy.
    if (convolved)
      image_[id] = builder.add(Op::permute, {pixels}, {{"dims", to_first(rank)}}, name + ".image");
    return last_[id] = pixels;
  }
  bool is_output(ValueId id) const {
    return std::ranges::find(graph_.outputs, id) != graph_.outputs.end() ||
           std::ranges::find(graph_.updates, id, &Update::value) != graph_.updates.end();
  }

  void sink(const Node& node) {
    Builder builder(graph_, node);
    const ValueId own = node.results[0];
    const int64_t rank = graph_.type(own).rank();
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) operands.push_back(in_last(builder, id, node));
    const std::string name = graph_[own].name;
    last_[own] = builder.add(node.op, std::move(operands), node.attributes, name + ".pixels");
    replacement_[own] = builder.add(Op::permute, {last_[own]}, {{"dims", to_first(rank)}}, name);
  }

  // Redirects the other readers of a tensor that is now NHWC.
  void read_from_there(size_t n) {
    Node& node = graph_.nodes[n];
    if (is_permute(node, to_last))
      if (auto known = last_.find(node.operands[0]); known != last_.end()) {
        replacement_[node.results[0]] = known->second;
        return;
      }
    for (ValueId& id : node.operands)
      if (auto known = image_.find(id); known != image_.end()) id = known->second;
  }

  Graph& graph_;
  const std::vector<int32_t> makers_;
  const std::vector<std::vector<int32_t>> users_;
  std::vector<bool> sinks_;
  std::map<ValueId, ValueId> last_;   // values in NHWC
  std::map<ValueId, ValueId> image_;  // their NCHW views
  std::map<ValueId, ValueId> replacement_;
};

}  // namespace

bool sink_permutes(Graph& graph) { return Sinking(graph).run(); }

}  // namespace stitch
