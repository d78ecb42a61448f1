// Attention written out, matmul(softmax(matmul(q, kᵀ) · scale + mask), v), becomes one node, so that its
// scores need never reach memory. Accepted between the two products: factors (numbers, or one per head; also
// on q and k), a soft cap (cap · tanh(score / cap)), masks that are added or filled with -inf or with a
// number that leaves no weight, reshapes of the batch (windows), casts to a wider type and back, softmax or
// ReLU. Scores that are not finite may give another NaN or infinity; everything else is the same computation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "passes/pipeline.h"

namespace stitch {

namespace {

// A fill far below any score: 65504 is the largest number in fp16. `absorbing` plus a score is `absorbing`,
// in FP32 too, so that a query without visible keys weighs all keys the same, as with a fill.
constexpr double largest_fill = -6e4, absorbing = -1e30;

struct Mask {
  ValueId value;
  Shape frame;                                       // the scores' shape where the mask is applied
  enum Kind : uint8_t { added, keeps, drops } kind;  // bool masks: true keeps, or true is filled
  bool finite = false;                               // filled with a finite number, not -inf
};

// What is applied between the first product and the softmax.
struct Scores {
  const Node* product = nullptr;
  double scale = 1, soft_cap = 0;
  std::vector<ValueId> factors;  // of q's rank or less, 1 in the last two dimensions
  std::vector<Mask> masks;
  std::vector<Shape> frames;  // all shapes of the scores on the way
};

class Recognizer {
 public:
  Recognizer(Graph& graph, const RewriteLimits& limits)
      : graph_(graph), limits_(limits), makers_(producers(graph)), users_(users(graph)) {
    kept_.resize(graph.values.size());
    for (ValueId id : graph.outputs) kept_[index_of(id)] = true;
    for (const Update& update : graph.updates) kept_[index_of(update.value)] = true;
  }

  bool run() {
    bool changed = false;
    size_t count = graph_.nodes.size();
    for (size_t i = 0; i < count; ++i)
      if (graph_.nodes[i].op == Op::matmul)
        changed |= rewrite(i);
      else if (graph_.nodes[i].op == Op::attention)
        changed |= take_scale(graph_.nodes[i]);
    if (changed) sort_nodes(graph_);
    return changed;
  }

 private:
  const Node* maker(ValueId id) const {
    int32_t node = index_of(id) < makers_.size() ? makers_[index_of(id)] : -1;
    return node < 0 ? nullptr : &graph_.node(node);
  }
  bool used_once(ValueId id) const {
    return index_of(id) < users_.size() && users_[index_of(id)].size() == 1 && !kept_[index_of(id)];
  }
  const Shape& shape(ValueId id) const { return graph_.type(id).shape; }

  std::optional<double> number(ValueId id) const {
    const Node* node = maker(id);
    if (!node || node->op != Op::full || graph_.type(id).elements() != 1) return std::nullopt;
    return node->attributes.number("value");
  }
  // The value that hides a score, e.g. -inf.
  std::optional<double> fill(ValueId id) const {
    const Node* node = maker(id);
    if (!node || node->op != Op::full || !is_floating(graph_.type(id).dtype)) return std::nullopt;
    const double value = node->attributes.number("value");
    return value <= largest_fill ? std::optional(value) : std::nullopt;
  }

  // One value for all queries and keys.
  bool is_factor(ValueId id, const Shape& scores) const {
    const Shape& own = shape(id);
    if (own.size() > scores.size()) return false;
    return std::all_of(own.end() - std::min<std::ptrdiff_t>(2, std::ssize(own)), own.end(),
                       [](int64_t extent) { return extent == 1; });
  }

  // Fills `scores` from the softmax's operand back to the product. Factors after a mask would scale the mask
  // too.
  bool follow(ValueId id, Scores& scores) const {
    const Node* node = maker(id);
    if (!node || !used_once(id) || !is_floating(graph_.type(id).dtype)) return false;
    const Shape& here = shape(id);
    if (here.size() < 2) return false;
    if (scores.frames.empty() || scores.frames.back() != here) scores.frames.push_back(here);
    bool scaled = scores.scale != 1 || !scores.factors.empty() || scores.soft_cap != 0;
    auto try_both = [&](auto take) {
      for (size_t side : {0u, 1u}) {
        ValueId rest = node->operands[side], other = node->operands[1 - side];
        if (shape(rest) != here) continue;
        Scores attempt = scores;
        if (take(attempt, other) && follow(rest, attempt)) {
          scores = std::move(attempt);
          return true;
        }
      }
      return false;
    };
    switch (node->op) {
      case Op::matmul: scores.product = node; return true;
      case Op::cast: return shape(node->operands[0]) == here && follow(node->operands[0], scores);
      case Op::tanh:
        // The factor after tanh is the cap, the one before it scale / cap.
        if (scores.soft_cap != 0 || !(scores.scale > 0) || !scores.factors.empty()) return false;
        scores.soft_cap = scores.scale;
        return follow(node->operands[0], scores);
      case Op::add:
        if (scaled) return false;
        return try_both([&](Scores& attempt, ValueId other) {
          if (graph_.type(other).dtype != graph_.type(id).dtype) return false;
          attempt.masks.push_back({other, here, Mask::added});
          return true;
        });
      case Op::mul:
        return try_both([&](Scores& attempt, ValueId other) {
          if (auto value = number(other))
            attempt.scale *= *value;
          else if (is_factor(other, here) && graph_.type(other).dtype == graph_.type(id).dtype)
            attempt.factors.push_back(other);
          else
            return false;
          return true;
        });
      case Op::div: {
        auto value = number(node->operands[1]);
        if (!value || *value == 0 || shape(node->operands[0]) != here) return false;
        scores.scale /= *value;
        return follow(node->operands[0], scores);
      }
      case Op::where: {
        if (scaled) return false;
        const auto first = fill(node->operands[1]), second = fill(node->operands[2]);
        if (!first && !second) return false;
        const bool finite = !std::isinf(first ? *first : *second);
        // Values added after a finite fill distinguish keys in queries that see none.
        const auto is_added = [](const Mask& mask) { return mask.kind == Mask::added; };
        if (finite && std::ranges::any_of(scores.masks, is_added)) return false;
        ValueId rest = node->operands[first ? 2 : 1];
        if (shape(rest) != here) return false;
        scores.masks.push_back({node->operands[0], here, first ? Mask::drops : Mask::keeps, finite});
        return follow(rest, scores);
      }
      case Op::reshape: {
        const Shape& before = shape(node->operands[0]);
        if (before.size() < 2 || !std::equal(before.end() - 2, before.end(), here.end() - 2)) return false;
        if (!scores.factors.empty()) return false;
        return follow(node->operands[0], scores);
      }
      default: return false;
    }
  }

  // How `fine` splits each dimension of `coarse`; empty if it doesn't.
  static std::optional<std::vector<Shape>> split(const Shape& coarse, const Shape& fine) {
    std::vector<Shape> out;
    size_t at = 0;
    for (int64_t extent : coarse) {
      Shape part;
      int64_t product = 1;
      while (product < extent && at < fine.size()) {
        part.push_back(fine[at]);
        product *= fine[at++];
      }
      if (product != extent) return std::nullopt;
      if (part.empty() && at < fine.size() && fine[at] == 1) part.push_back(fine[at++]);
      out.push_back(part);
    }
    if (at != fine.size()) return std::nullopt;
    return out;
  }

  // The shape `own`, which broadcasts to `frame`, in the finer dimensions of `fine`.
  static std::optional<Shape> refined(const Shape& own, const Shape& frame, const Shape& fine) {
    auto parts = split(frame, fine);
    if (!parts || own.size() > frame.size()) return std::nullopt;
    Shape out;
    size_t missing = frame.size() - own.size();
    for (size_t d = 0; d < frame.size(); ++d) {
      bool one = d < missing || own[d - missing] == 1;
      for (int64_t extent : (*parts)[d]) out.push_back(one ? 1 : extent);
    }
    return out;
  }

  // Strips a multiplication by a number, also below views, and moves the number into the scale.
  ValueId without_scale(ValueId id, double& scale) {
    const Node* node = maker(id);
    if (!node || !used_once(id)) return id;
    if (node->op == Op::mul || node->op == Op::div)
      for (size_t side : {1u, 0u}) {
        const ValueId rest = node->operands[1 - side];
        const auto value = number(node->operands[side]);
        if (!value || shape(rest) != shape(id) || graph_.type(rest).dtype != graph_.type(id).dtype) continue;
        if (node->op == Op::div && (side == 0 || *value == 0)) continue;
        scale = node->op == Op::div ? scale / *value : scale * *value;
        return rest;
      }
    if (node->op != Op::permute && node->op != Op::reshape && node->op != Op::expand) return id;
    const ValueId rest = without_scale(node->operands[0], scale);
    graph_.node(makers_[index_of(id)]).operands[0] = rest;
    return id;
  }

  // Attention whose queries were multiplied by a number (Whisper, OPT), which would be a kernel in 16 bits.
  bool take_scale(Node& node) {
    double scale = node.attributes.number("scale");
    const double before = scale;
    const ValueId q = without_scale(node.operands[0], scale);
    if (scale == before) return false;
    node.operands[0] = q;
    node.attributes.set("scale", scale);
    return true;
  }

  ValueId add(Op op, std::vector<ValueId> operands, const Attributes& attributes, const std::string& name) {
    auto made = graph_.add_node(op, std::move(operands), attributes, name, where_, module_);
    if (!made) throw Bug("recognising attention: " + made.error().text());
    makers_.resize(graph_.values.size(), -1);
    makers_[index_of((*made)[0])] = static_cast<int32_t>(graph_.nodes.size()) - 1;
    return (*made)[0];
  }
  ValueId reshaped(ValueId id, const Shape& to) {
    return shape(id) == to ? id : add(Op::reshape, {id}, {{"shape", to}}, graph_[id].name + ".view");
  }
  ValueId inverted(ValueId id) {
    const Node* node = maker(id);
    std::string name = graph_[id].name + ".not";
    if (node && node->op == Op::logical_not && graph_.type(node->operands[0]).dtype == DType::boolean)
      return node->operands[0];
    if (node && node->op == Op::eq) return add(Op::ne, node->operands, {}, name);
    return add(Op::logical_not, {id}, {}, name);
  }

  ValueId number_of(double value, DType dtype, const std::string& name) {
    return add(Op::full, {}, {{"shape", Shape{}}, {"dtype", dtype}, {"value", value}}, name);
  }

  // All masks combined into one operand, or none.
  ValueId mask_of(const Scores& scores, const Shape& fine, DType dtype) {
    ValueId keep = ValueId::none, unfilled = ValueId::none, added = ValueId::none;
    auto join = [&](ValueId a, ValueId b, Op op) {
      return a == ValueId::none ? b : add(op, {a, b}, {}, graph_[a].name + ".both");
    };
    // In the order in which the model adds them.
    for (auto mask = scores.masks.rbegin(); mask != scores.masks.rend(); ++mask) {
      ValueId value = mask->value;
      if (mask->kind == Mask::drops) value = inverted(value);
      value = reshaped(value, *refined(shape(value), mask->frame, fine));
      if (mask->kind == Mask::added)
        added = join(added, value, Op::add);
      else if (mask->finite)
        unfilled = join(unfilled, value, Op::logical_and);
      else
        keep = join(keep, value, Op::logical_and);
    }
    if (unfilled != ValueId::none) {
      const std::string name = graph_[unfilled].name;
      if (added == ValueId::none)
        added = number_of(0, DType::f32, name + ".zero");
      else if (dtype != DType::f32)
        added = add(Op::cast, {added}, {{"dtype", DType::f32}}, name + ".added");
      dtype = DType::f32;  // fp16 has no absorbing number
      added = add(Op::where, {unfilled, added, number_of(absorbing, dtype, name + ".absorbing")}, {},
                  name + ".filled");
    }
    if (keep == ValueId::none || added == ValueId::none) return keep == ValueId::none ? added : keep;
    const ValueId nothing =
        number_of(-std::numeric_limits<double>::infinity(), dtype, graph_[keep].name + ".fill");
    return add(Op::where, {keep, added, nothing}, {}, graph_[keep].name + ".mask");
  }

  bool rewrite(size_t index) {
    ValueId weights = graph_.nodes[index].operands[0], v = graph_.nodes[index].operands[1],
            result = graph_.nodes[index].results[0];
    const Node* weigh = maker(weights);
    if (!weigh || !used_once(weights) || graph_.type(weights).dtype == DType::f64) return false;
    if (weigh->op == Op::cast && shape(weigh->operands[0]) == shape(weights)) {
      if (!used_once(weigh->operands[0]) || graph_.type(weigh->operands[0]).dtype == DType::f64) return false;
      weigh = maker(weigh->operands[0]);
      if (!weigh) return false;
    }
    bool relu = weigh->op == Op::relu;
    int64_t rank = std::ssize(shape(weights));
    if (!relu && (weigh->op != Op::softmax || weigh->attributes.integer("dim") != rank - 1)) return false;
    Scores scores;
    if (!follow(weigh->operands[0], scores)) return false;

    ValueId q = scores.product->operands[0], right = scores.product->operands[1];
    auto batch_of = [&](ValueId id) { return Shape(shape(id).begin(), shape(id).end() - 2); };
    if (rank < 2 || std::ssize(shape(v)) != rank || batch_of(v) != batch_of(weights)) return false;
    if (shape(q).size() != shape(right).size() || shape(q).size() < 2 || batch_of(q) != batch_of(right))
      return false;
    const int64_t widest = shape(q).end()[-2] <= limits_.few_queries ? limits_.head_of_few
                           : size_of(graph_.type(q).dtype) == 2      ? limits_.head_of_halves
                                                                     : limits_.head;
    if (shape(q).back() > widest || shape(v).back() > widest) return false;
    if (graph_.type(q).dtype != graph_.type(result).dtype) return false;
    for (ValueId id : scores.factors)
      if (graph_.type(id).dtype != graph_.type(q).dtype) return false;
    for (const Mask& mask : scores.masks)
      if (mask.kind == Mask::added && graph_.type(mask.value).dtype != graph_.type(q).dtype) return false;

    // The finest of the scores' shapes, as the common batch of all masks.
    Shape fine = *std::ranges::max_element(scores.frames, {}, &Shape::size);
    for (const Shape& frame : scores.frames)
      if (!split(frame, fine)) return false;
    for (const Mask& mask : scores.masks)
      if (!refined(shape(mask.value), mask.frame, fine)) return false;
    if (!split(batch_of(q), Shape(fine.begin(), fine.end() - 2))) return false;

    q = without_scale(q, scores.scale);
    right = without_scale(right, scores.scale);
    where_ = graph_.nodes[index].where;
    module_ = graph_.nodes[index].module;
    std::string name = graph_[result].name;
    for (ValueId factor : scores.factors) q = add(Op::mul, {q, factor}, {}, name + ".q");
    std::vector<int64_t> swap(shape(right).size());
    for (size_t d = 0; d < swap.size(); ++d) swap[d] = static_cast<int64_t>(d);
    std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
    ValueId k = add(Op::permute, {right}, {{"dims", swap}}, name + ".k");
    auto in_fine_batch = [&](ValueId id) {
      Shape to(fine.begin(), fine.end() - 2);
      to.insert(to.end(), shape(id).end() - 2, shape(id).end());
      return reshaped(id, to);
    };
    std::vector<ValueId> operands = {in_fine_batch(q), in_fine_batch(k), in_fine_batch(v)};
    if (ValueId mask = mask_of(scores, fine, graph_.type(q).dtype); mask != ValueId::none)
      operands.push_back(mask);
    Attributes attributes{{"scale", scores.scale}, {"weights", std::string(relu ? "relu" : "softmax")}};
    if (scores.soft_cap != 0) attributes.set("soft_cap", scores.soft_cap);
    ValueId attended = add(Op::attention, operands, attributes, name + ".attention");
    if (shape(attended) == shape(result)) {
      graph_.rename(result, name + ".view");
      graph_.rename(attended, name);
    }
    Node& node = graph_.nodes[index];
    node.op = Op::reshape;  // removed by canonical_views
    node.operands = {attended};
    node.attributes = Attributes{{"shape", shape(result)}};
    return true;
  }

  Graph& graph_;
  const RewriteLimits& limits_;
  std::vector<int32_t> makers_;
  std::vector<std::vector<int32_t>> users_;
  std::vector<bool> kept_;
  std::string where_, module_;
};

}  // namespace

bool recognize_attention(Graph& graph, const RewriteLimits& limits) {
  if (!Recognizer(graph, limits).run()) return false;
  canonicalize_views(graph);
  return true;
}

}  // namespace stitch
