// Pools: a small loop over the elements of a window.
#include <algorithm>
#include <array>
#include <optional>

#include "base/format.h"
#include "code/loops/emit/emitter.h"

namespace stitch::code::loops {

namespace {

// A window along one spatial dimension.
struct Side {
  const char* axis;
  int64_t size = 0;         // of the input
  int64_t taps = 0;         // 0: varies, in adaptive pools
  int64_t step = 1;         // between taps
  Index start;              // the first tap's coordinate, possibly in the padding
  Expression begin, end;    // inside the input
  Expression with_padding;  // elements including padding
  bool whole = false;       // always inside the input
  bool clipped = false;     // may reach past an edge and is clamped: see open_side
  bool by_taps() const { return whole || clipped; }
  Expression count() const { return whole ? Expression(taps) : end - begin; }  // without padding
};

// Loops over a window, one per spatial dimension, and the update for each element. If the lanes of a vector
// are channels, they share the window: it is walked once with whole vectors.
class Pooled {
 public:
  Pooled(Emitter& emitter, ValueId id, const Node& node, const Indices& at)
      : emitter_(emitter),
        graph_(emitter.graph()),
        id_(id),
        node_(node),
        at_(at),
        in_(graph_.type(node.operands[0]).shape),
        out_(graph_.type(node.results[0]).shape),
        dtype_(graph_.type(node.operands[0]).dtype),
        type_(emitter.type_of(node.results[0])),
        adaptive_(node.op == Op::adaptive_max_pool || node.op == Op::adaptive_avg_pool),
        largest_(node.op == Op::max_pool || node.op == Op::adaptive_max_pool),
        positions_(largest_ && node.results.size() > 1),
        lanes_(emitter.vector().width) {
    name_ = emitter_.names().unique(graph_[node.results[0]].name);
    place_ = named(emitter_.names().unique(name_ + "_from"));
    shared_ = emitter.in_lanes(at) && !positions_;
    for (size_t d = 2; d < in_.size(); ++d) shared_ = shared_ && !at[d].appears(emitter.vector().variable);
    so_far_ = shared_ ? element(name_, named(emitter.vector().variable)) : named(name_);
  }

  Expression result(size_t result) {
    {
      std::optional<Emitter::BeforeLanes> before;
      if (shared_) before.emplace(emitter_);
      for (size_t d = 2; d < in_.size(); ++d) sides_.push_back(side(d));
      start();
      Indices from = at_, spatial;
      Expression counted;  // whether a tap counts towards a mean
      for (size_t d = 0; d < sides_.size(); ++d) {
        from[d + 2] = open_side(d, counted);
        spatial.push_back(from[d + 2]);
      }
      if (shared_) emitter_.open_vector(lanes_, emitter_.vector().together);
      take(emitter_.value(node_.operands[0], from), spatial, counted);
      if (shared_) emitter_.close_vector();
      for (size_t d = 0; d < sides_.size(); ++d) emitter_.close();
    }
    if (!largest_) return mean();
    if (positions_) {
      emitter_.scopes().remember(key_of(node_.results[0], at_), so_far_);
      emitter_.scopes().remember(key_of(node_.results[1], at_), place_);
    }
    return result == 0 ? so_far_ : place_;
  }

 private:
  Side side(size_t d) {
    Side out;
    out.axis = std::array{"z", "y", "x"}[5 - in_.size() + d - 2];
    out.size = in_[d];
    std::string from = emitter_.names().unique(format("{}_begin", out.axis));
    std::string to = emitter_.names().unique(format("{}_end", out.axis));
    if (adaptive_) {
      Index scaled = emitter_.settled(at_[d], out_[d]) * out.size;
      out.begin = scaled.divided_by(out_[d]);
      out.end = (scaled + (out.size + out_[d] - 1)).divided_by(out_[d]);
      out.with_padding = out.end - out.begin;
      return out;
    }
    const Attributes& attributes = node_.attributes;
    const int64_t padding = attributes.integers("padding")[d - 2];
    out.taps = attributes.integers("kernel")[d - 2];
    out.step = largest_ ? attributes.integers("dilation")[d - 2] : 1;
    out.start = at_[d] * attributes.integers("stride")[d - 2] - padding;
    const int64_t reach = (out.taps - 1) * out.step + 1;
    const Index past = out.start + reach;
    // At every size of a range, where the last window may end elsewhere.
    const int64_t stride = attributes.integers("stride")[d - 2];
    auto ends_within = [&](int64_t beyond) {
      auto ends_there = [&](const Instance& at) {
        const Shape& to = at.graph.type(node_.results[0]).shape;
        return (to[d] - 1) * stride - padding + reach <= at.graph.type(node_.operands[0]).shape[d] + beyond;
      };
      const auto& instances = emitter_.request().context.instances;
      return past.most() <= out.size + beyond &&
             (!instances ||
              (ends_there(instances->largest) && std::ranges::all_of(instances->all, ends_there)));
    };
    out.whole = out.start.least() >= 0 && ends_within(0);
    out.with_padding = ends_within(padding)
                           ? Expression(reach)
                           : select(past < out.size + padding, past, out.size + padding) - out.start;
    if (out.whole) {
      out.begin = out.start;
      out.with_padding = out.taps;
      return out;
    }
    // A window that starts in the padding begins at its first tap inside.
    Expression first = 0;
    if (out.step > 1) first = Expression(out.start + padding * out.step) % out.step;
    emitter_.add(define_constant(emitter_.index_type(), from, select(out.start < 0, first, out.start)));
    emitter_.add(define_constant(emitter_.index_type(), to, select(past < out.size, past, out.size)));
    out.begin = named(from);
    out.end = named(to);
    emitter_.scopes().introduce(from);
    emitter_.scopes().introduce(to);
    out.clipped = out.step == 1 && !positions_ && out.taps <= 8;
    return out;
  }

  // Initialises the accumulators.
  void start() {
    const Expression none = largest_ ? extreme_of(dtype_, true) : number(0, dtype_);
    if (shared_) {
      emitter_.add(define_variable(type_, name_, {}, {lanes_}));
      emitter_.add({For{int_type, "v", 0, lanes_, 1, For::whole, {assign(so_far_, none)}, false}});
    } else {
      emitter_.add(define_variable(type_, name_, none));
    }
    if (!positions_) return;
    Expression first;
    for (const Side& each : sides_) first = first.empty() ? each.begin : first * each.size + each.begin;
    emitter_.add(define_variable(int64_type, place_->name, first));
  }

  // Loops over the taps of one dimension; returns a tap's coordinate.
  Index open_side(size_t d, Expression& counted) {
    const Side& each = sides_[d];
    if (!each.by_taps()) return emitter_.open_loop(each.axis, each.begin, each.end, each.step, each.size);
    int64_t copies = shared_ ? lanes_ : 1;
    for (size_t inner = d; inner < sides_.size(); ++inner)
      copies *= sides_[inner].by_taps() ? sides_[inner].taps : 1;
    const bool unroll = each.taps <= 8 && emitter_.unrollable(copies, node_.operands[0]);
    Index tap = emitter_.open_loop(format("k{}", each.axis), 0, each.taps, 1, each.taps, unroll);
    Index from = each.start + tap * each.step;
    if (!each.clipped) return from;
    // Taps past an edge are clamped to it, so that loads don't wait for a branch: a maximum is unchanged, and
    // a mean doesn't count them.
    const Type type = emitter_.index_type();
    const Expression wanted = named(emitter_.names().unique(format("{}_wanted", each.axis)));
    emitter_.add(define_constant(type, wanted->name, from));
    from = emitter_.declare_index(
        each.axis, call(format("stitch::clamp<{}>", type.name), {wanted, 0, each.size - 1}), each.size);
    if (!largest_) counted = both(counted, wanted == Expression(from));
    return from;
  }

  void take(const Expression& x, const Indices& spatial, const Expression& counted) {
    if (!largest_) {
      emitter_.add(
          assign(so_far_, counted.empty() ? x : select(counted, x, number(0, dtype_)), Operator::add));
    } else if (positions_) {
      // As in PyTorch: the first of equals, but the last NaN.
      emitter_.guard(is_floating(dtype_) ? either(x > so_far_, x != x) : x > so_far_);
      emitter_.add(assign(so_far_, x));
      emitter_.add(assign(place_, flatten(spatial, Shape(in_.begin() + 2, in_.end()))));
      emitter_.close();
    } else {
      emitter_.add(assign(so_far_, call("stitch::maximum", {so_far_, x})));
    }
  }

  Expression mean() {
    const int64_t divisor = adaptive_ ? 0 : node_.attributes.integer("divisor");
    Expression count, empty;
    std::optional<double> constant = divisor ? divisor : 1;
    for (const Side& each : sides_) {
      if (divisor) continue;
      Expression side =
          adaptive_ || node_.attributes.flag("count_padding") ? each.with_padding : each.count();
      count = count.empty() ? side : count * side;
      if (constant) constant = side.constant() ? std::optional(*constant * *side.constant()) : std::nullopt;
      // An empty window has mean zero.
      if (!each.whole && !adaptive_) empty = either(empty, each.begin >= each.end);
    }
    std::string name = emitter_.names().unique(graph_[id_].name + "_mean");
    Expression quotient =
        constant ? so_far_ * number(1.0 / *constant, dtype_) : so_far_ / static_cast_to(type_, count);
    if (!constant && !empty.empty()) quotient = select(empty, number(0, dtype_), quotient);
    emitter_.add(define_constant(type_, name, quotient));
    return named(name);
  }

  Emitter& emitter_;
  const Graph& graph_;
  ValueId id_;
  const Node& node_;
  const Indices& at_;
  const Shape &in_, &out_;
  DType dtype_;
  Type type_;
  bool adaptive_, largest_, positions_, shared_ = false;
  int64_t lanes_;
  std::string name_;
  Expression place_, so_far_;
  std::vector<Side> sides_;
};

}  // namespace

Expression pooled_element(Emitter& emitter, ValueId id, const Node& node, size_t result, const Indices& at) {
  return Pooled(emitter, id, node, at).result(result);
}

}  // namespace stitch::code::loops
