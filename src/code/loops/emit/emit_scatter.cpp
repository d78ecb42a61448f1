// scatter and index_put from the result's side: each element searches the sources that target it, in write
// order: all sources, or the list of its row (scatter.h). Deterministic; the last one wins where that is
// specified.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "code/loops/emit/emitter.h"
#include "code/loops/scatter.h"

namespace stitch::code::loops {

namespace {

// A candidate source: loops over all sources are open, and a guard that it targets the element.
struct Source {
  Indices from;        // its indices among the sources; empty: there are none
  Expression counted;  // whether it targets the element, if there is no guard; none: it does
  int scopes = 0;      // open scopes
};

// Sources of a list whose loads are in flight together.
constexpr int64_t sources_at_once = 4;

// The common (broadcast) shape of an index_put's indices.
Shape common_shape(const Graph& graph, const Node& node) {
  Shape common;
  for (size_t i = 2; i < node.operands.size(); ++i)
    common = *broadcast(common, graph.type(node.operands[i]).shape);
  return common;
}

// An index_put's indices at a place of their common shape, one per entry of `dims`.
Expressions indices_put(Emitter& emitter, const Node& node, const Indices& place) {
  const Shape& shape = emitter.graph().type(node.operands[0]).shape;
  const auto& dims = node.attributes.integers("dims");
  Expressions out;
  for (size_t i = 0; i < dims.size(); ++i) {
    Expression found = emitter.value(node.operands[i + 2], emitter.broadcast_to(node.operands[i + 2], place));
    out.push_back(call("stitch::index_from_start", {found, shape[static_cast<size_t>(dims[i])]}));
  }
  return out;
}

size_t scattered_dim(const Graph& graph, const Node& node) {
  const int64_t dim = node.attributes.integer("dim"), rank = std::ssize(graph.type(node.operands[0]).shape);
  return static_cast<size_t>(dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim);
}

// Opens loops over the sources in the list of a row; returns the source's number. Past the end of the list
// the last source is read again and not counted, so that no load waits for a branch.
Index open_list(Emitter& emitter, const Index& row, int64_t sources, int64_t parts, Source& out) {
  const Index start = emitter.declare_index("list_start", element("list_starts", row), sources);
  const Index end =
      emitter.declare_index("list_end", Expression(start) + element("list_counts", row), sources + 1);
  Expression begin = start;
  if (parts > 1) begin = begin + named("list_part") * sources_at_once;
  const Index first = emitter.open_loop("next", begin, end, sources_at_once * parts, sources);
  const Index ahead = emitter.open_loop("u", 0, sources_at_once, 1, sources_at_once, true);
  out.scopes += 2;
  out.counted = Expression(first + ahead) < Expression(end);
  const Index at =
      emitter.declare_index("list_at", select(out.counted, first + ahead, Expression(end) - 1), sources);
  return emitter.declare_index("number", element("list_order", at), sources);
}

Source source_of_put(Emitter& emitter, const Node& node, const Indices& at, int64_t parts) {
  const Graph& graph = emitter.graph();
  const Shape& shape = graph.type(node.operands[0]).shape;
  const auto& dims = node.attributes.integers("dims");
  const Shape common = common_shape(graph, node);
  if (element_count(common) == 0) return {};
  Source out;
  Indices place;
  if (emitter.grouped_sources) {
    Indices named_by;
    Shape extents;
    for (int64_t dim : dims) {
      named_by.push_back(at[static_cast<size_t>(dim)]);
      extents.push_back(shape[static_cast<size_t>(dim)]);
    }
    place =
        unflatten(open_list(emitter, flatten(named_by, extents), element_count(common), parts, out), common);
  } else {
    for (int64_t size : common) place.push_back(emitter.open_loop("candidate", 0, size, 1, size));
    Expression condition;
    const Expressions found = indices_put(emitter, node, place);
    for (size_t i = 0; i < dims.size(); ++i)
      condition = both(condition, found[i] == Expression(at[static_cast<size_t>(dims[i])]));
    emitter.guard(condition);
    out.scopes = static_cast<int>(common.size()) + 1;
  }
  // The source's place in the indexed shape: the common part, and the dimensions that aren't indexed.
  bool neighbours = dims.back() - dims.front() + 1 == std::ssize(dims);
  Indices from;
  if (!neighbours) from = place;
  for (int64_t d = 0; d < std::ssize(shape); ++d) {
    if (neighbours && d == dims.front()) from.insert(from.end(), place.begin(), place.end());
    if (std::ranges::find(dims, d) == dims.end()) from.push_back(at[static_cast<size_t>(d)]);
  }
  out.from = emitter.broadcast_to(node.operands[1], from);
  return out;
}

Source source_of_scatter(Emitter& emitter, const Node& node, const Indices& at, int64_t parts) {
  const Graph& graph = emitter.graph();
  const Shape &shape = graph.type(node.operands[0]).shape, &indexed = graph.type(node.operands[1]).shape;
  if (element_count(indexed) == 0) return {};
  const size_t dim = scattered_dim(graph, node);
  Source out;
  Indices from = at;
  Expression inside;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != dim && indexed[i] < shape[i]) inside = both(inside, at[i] < indexed[i]);
  if (!inside.empty()) emitter.guard(inside), ++out.scopes;
  if (emitter.grouped_sources) {
    const SourceLists lists = *source_lists(graph, node);
    const Index number =
        open_list(emitter, lists.by_row ? at[dim] : flatten(at, shape), lists.sources, parts, out);
    from[dim] = lists.by_row ? number : unflatten(number, indexed)[dim];
  } else {
    if (!shape.empty()) {
      from[dim] = emitter.open_loop("candidate", 0, indexed[dim], 1, indexed[dim]);
      ++out.scopes;
    }
    Expression found = emitter.value(node.operands[1], from);
    emitter.guard(shape.empty() ? number(1, DType::boolean)
                                : call("stitch::checked_index", {found, shape[dim]}) == Expression(at[dim]));
    ++out.scopes;
  }
  out.from = from;
  return out;
}

// Whether an index varies along one dimension only: an expanded vector.
bool varies_along_alone(const Graph& graph, ValueId index, size_t dim) {
  const Shape& shape = graph.type(index).shape;
  auto alone = [&](const Shape& of) {
    const size_t missing = shape.size() - of.size();
    for (size_t d = 0; d < of.size(); ++d)
      if (d + missing != dim && of[d] != 1) return false;
    return true;
  };
  if (alone(shape)) return true;
  for (const Node& node : graph.nodes)
    if (node.results[0] == index && node.op == Op::expand) return alone(graph.type(node.operands[0]).shape);
  return false;
}

Expression combined(const std::string& reduce, DType dtype, const Expression& a, const Expression& b) {
  const bool product = reduce == "prod";
  if (reduce == "none") return b;
  if (reduce == "amax" || reduce == "amin")
    return call(reduce == "amax" ? "stitch::maximum" : "stitch::minimum", {a, b});
  if (is_floating(dtype)) return product ? a * b : a + b;
  if (dtype == DType::boolean) return product ? both(a, b) : either(a, b);
  return call(format("stitch::wrapped_{}<{}>", product ? "mul" : "add", stored_type(dtype).name), {a, b});
}

}  // namespace

std::optional<SourceLists> source_lists(const Graph& graph, const Node& node) {
  constexpr int64_t few = 32, most = (int64_t{1} << 31) - (int64_t{1} << 20);
  const Shape& shape = graph.type(node.operands[0]).shape;
  SourceLists out;
  if (node.op == Op::index_put) {
    out.sources = element_count(common_shape(graph, node));
    out.rows = 1;
    for (int64_t dim : node.attributes.integers("dims")) out.rows *= shape[static_cast<size_t>(dim)];
  } else if (!shape.empty()) {
    const Shape& indexed = graph.type(node.operands[1]).shape;
    const size_t dim = scattered_dim(graph, node);
    out.by_row = varies_along_alone(graph, node.operands[1], dim);
    out.sources = out.by_row ? indexed[dim] : element_count(indexed);
    out.rows = out.by_row ? shape[dim] : element_count(shape);
    out.few = indexed[dim] <= few;
  }
  out.few = out.few || out.sources <= few;
  if (out.sources > most || out.rows > most || element_count(shape) == 0) return std::nullopt;
  return out;
}

Expression target_of_source(Emitter& emitter, const Node& node, const Index& source) {
  const Graph& graph = emitter.graph();
  const Shape& shape = graph.type(node.operands[0]).shape;
  Expression row;  // an index out of range traps
  if (node.op == Op::index_put) {
    const auto& dims = node.attributes.integers("dims");
    const Expressions found = indices_put(emitter, node, unflatten(source, common_shape(graph, node)));
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t extent = shape[static_cast<size_t>(dims[i])];
      row = row.empty() ? found[i] : row * extent + found[i];
    }
  } else {
    const Shape& indexed = graph.type(node.operands[1]).shape;
    const size_t dim = scattered_dim(graph, node);
    const bool by_row = source_lists(graph, node)->by_row;
    Indices at(shape.size());
    if (by_row)
      at[dim] = source;
    else
      at = unflatten(source, indexed);
    row = call("stitch::checked_index", {emitter.value(node.operands[1], at), shape[dim]});
    if (!by_row) {
      const std::vector<int64_t> strides = contiguous_strides(shape);
      at[dim] = 0;
      row = Expression(position(at, strides)) + row * strides[dim];
    }
  }
  return static_cast_to(int_type, row);
}

namespace {

// One element of the result, or all lanes of a vector if they are in one row: its list is then walked once
// with whole vectors.
class Scattered {
 public:
  Scattered(Emitter& emitter, ValueId id, const Node& node, const Indices& at)
      : emitter_(emitter),
        node_(node),
        at_(at),
        put_(node.op == Op::index_put),
        dtype_(emitter.graph().type(id).dtype),
        type_(emitter.type_of(id)),
        reduce_(put_ ? (node.attributes.flag("accumulate") ? "sum" : "none")
                     : node.attributes.text("reduce")),
        include_self_(put_ || reduce_ == "none" || node.attributes.flag("include_self")),
        lanes_(emitter.vector().width),
        shared_(emitter.in_lanes(at) && emitter.grouped_sources && lanes_share_list()),
        parts_(parts()),
        name_(emitter.name_of(id)),
        so_far_(shared_ ? element(name_, named(emitter.vector().variable)) : named(name_)) {}

  Expression result() {
    {
      std::optional<Emitter::BeforeLanes> before;
      if (shared_) before.emplace(emitter_);
      start();
      const std::string outside = emitter_.names().unique("outside");
      emitter_.add(define_variable(bool_type, outside, number(0, DType::boolean)));
      if (emitter_.grouped_sources) emitter_.late_checks = {outside, emitter_.scopes().depth(), false};
      Source source = put_ ? source_of_put(emitter_, node_, at_, parts_)
                           : source_of_scatter(emitter_, node_, at_, parts_);
      if (!source.from.empty() || source.scopes > 0) take(source);
      for (; source.scopes > 0; --source.scopes) emitter_.close();
      if (std::exchange(emitter_.late_checks, {}).used)
        emitter_.add(only_if(named(outside), evaluate(call("__trap", {}))));
    }
    if (parts_ > 1) join_parts();
    if (reduce_ == "mean") emitter_.add(only_if(count_ > 0, assign(so_far_, mean())));
    return so_far_;
  }

 private:
  bool lanes_share_list() const {
    const Graph& graph = emitter_.graph();
    const std::string& lane = emitter_.vector().variable;
    if (put_)
      return std::ranges::none_of(node_.attributes.integers("dims"),
                                  [&](int64_t dim) { return at_[static_cast<size_t>(dim)].appears(lane); });
    const Shape &shape = graph.type(node_.operands[0]).shape, &indexed = graph.type(node_.operands[1]).shape;
    const size_t dim = scattered_dim(graph, node_);
    for (size_t i = 0; i < shape.size(); ++i)
      if ((i == dim || indexed[i] < shape[i]) && at_[i].appears(lane)) return false;
    return source_lists(graph, node_)->by_row;
  }

  // Threads that synchronise must not be inside a guard or loop that some of them skip. Elsewhere each walks
  // the whole list.
  int64_t parts() const {
    const bool adds = is_floating(dtype_) && (reduce_ == "sum" || reduce_ == "mean");
    const bool outermost =
        emitter_.scopes().depth() == 1 || (emitter_.in_lanes() && emitter_.scopes().depth() == 2);
    return adds && outermost && emitter_.grouped_sources ? emitter_.list_parts : 1;
  }

  // Combines the partial sums of the threads.
  void join_parts() {
    const std::string sum = format("stitch::sum_parts<{}>", parts_);
    if (!count_.empty()) {
      std::optional<Emitter::BeforeLanes> before;
      if (shared_) before.emplace(emitter_);
      emitter_.add(assign(count_, collective(sum, {count_})));
    }
    const Expression self = emitter_.value(node_.operands[0], at_);
    emitter_.add(assign(so_far_, collective(sum, {so_far_})));
    emitter_.add(include_self_ ? assign(so_far_, self, Operator::add)
                               : assign(so_far_, select(count_ == 0, self, so_far_)));
  }

  void start() {
    if (parts_ > 1) {
      const Expression none = number(0, dtype_);
      emitter_.add(define_variable(type_, name_, shared_ ? Expression() : none,
                                   shared_ ? std::vector<int64_t>{lanes_} : std::vector<int64_t>{}));
      if (shared_)
        emitter_.add({For{int_type, "v", 0, lanes_, 1, For::whole, {assign(so_far_, none)}, false}});
    } else if (shared_) {
      emitter_.add(define_variable(type_, name_, {}, {lanes_}));
      emitter_.open_vector(lanes_, emitter_.vector().together);
      emitter_.add(assign(so_far_, emitter_.value(node_.operands[0], at_)));
      emitter_.close_vector();
    } else {
      const Expression self = emitter_.value(node_.operands[0], at_);
      emitter_.add(define_variable(type_, name_, self));
    }
    if (include_self_ && reduce_ != "mean") return;
    count_ = named(emitter_.names().unique("sources"));
    emitter_.add(define_variable(int_type, count_->name, 0));
  }

  void take(const Source& source) {
    if (shared_) emitter_.open_vector(lanes_, emitter_.vector().together);
    const Expression value = emitter_.value(node_.operands[put_ ? 1 : 2], source.from);
    Expression joined = combined(reduce_, dtype_, so_far_, value);
    if (!include_self_ && parts_ == 1) joined = select(count_ == 0, value, joined);
    emitter_.add(assign(so_far_, source.counted.empty() ? joined : select(source.counted, joined, so_far_)));
    if (shared_) emitter_.close_vector();
    if (!count_.empty())
      emitter_.add(assign(count_, source.counted.empty() ? 1 : select(source.counted, 1, 0), Operator::add));
  }

  Expression mean() const {
    const Expression number = include_self_ ? count_ + 1 : count_;
    if (is_floating(dtype_)) return so_far_ / static_cast_to(type_, number);
    return static_cast_to(type_, call("stitch::integer_floor_divide", {so_far_, number}));
  }

  Emitter& emitter_;
  const Node& node_;
  const Indices& at_;
  bool put_;
  DType dtype_;
  Type type_;
  std::string reduce_;
  bool include_self_;
  int64_t lanes_;
  bool shared_;
  int64_t parts_;
  std::string name_;
  Expression so_far_, count_;
};

}  // namespace

Expression scattered_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  return Scattered(emitter, id, node, at).result();
}

}  // namespace stitch::code::loops
