#include "graph/instances.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/text.h"

namespace stitch {

namespace {

constexpr size_t instance_count = 6;

bool is_prime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return n > 1;
}

// Sizes of one dimension, in order of preference; the first lies near the example's.
std::vector<int64_t> spread(const Dimension& dimension, int64_t example, std::set<int64_t>& taken) {
  const int64_t step = dimension.multiple;
  const int64_t least = (dimension.least + step - 1) / step, most = dimension.most / step;
  const auto near = static_cast<double>(std::clamp(example / step, least, most));
  const auto top = static_cast<double>(most);
  std::vector<int64_t> out;
  for (double wanted : {near, 5.0, 0.95 * top, 0.6 * near, std::sqrt(near * top), 1.6 * near}) {
    const int64_t at = std::clamp(static_cast<int64_t>(std::llround(wanted)), least, most);
    // A prime that no other dimension has, any other odd one, one that another has too: of even sizes, the
    // code may be for vectors, which differs from what all others have.
    auto suits = [&](int64_t size, int strictness) {
      if (size < least || size > most || std::ranges::count(out, size) > 0) return false;
      if (size == 1 && (strictness > 0 || most > 2)) return false;
      if (strictness > 0 && size % 2 == 0) return false;
      if (strictness > 1 && taken.contains(size)) return false;
      return strictness < 3 || is_prime(size);
    };
    // A few odd sizes again say more than even ones.
    bool found = false;
    for (int strictness = 3; strictness >= (out.size() < 3 ? 0 : 1) && !found; --strictness)
      for (int64_t away = 0; away <= most - least && !found; ++away)
        for (int64_t size : {at - away, at + away})
          if (!found && suits(size, strictness)) {
            out.push_back(size);
            taken.insert(size);
            found = true;
          }
  }
  for (int64_t& size : out) size *= step;
  return out;
}

bool same_kind(const AttributeValue& a, const AttributeValue& b) {
  if (kind_of(a) != kind_of(b)) return false;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&a))
    return list->size() == std::get<std::vector<int64_t>>(b).size();
  if (const auto* list = std::get_if<std::vector<double>>(&a))
    return list->size() == std::get<std::vector<double>>(b).size();
  return std::holds_alternative<int64_t>(a) || std::holds_alternative<double>(a) || same(a, b);
}

bool same_form(const Node& a, const Node& b) {
  if (a.op != b.op || a.operands != b.operands || a.results != b.results ||
      a.attributes.size() != b.attributes.size())
    return false;
  return std::equal(
      a.attributes.begin(), a.attributes.end(), b.attributes.begin(),
      [](const auto& x, const auto& y) { return x.first == y.first && same_kind(x.second, y.second); });
}

bool same_form(const Value& a, const Value& b) {
  return a.name == b.name && a.role == b.role && a.data == b.data && a.type.dtype == b.type.dtype &&
         a.type.rank() == b.type.rank() && a.type.strides.size() == b.type.strides.size();
}

}  // namespace

Result<std::vector<Sizes>> instance_sizes(const Dimensions& dimensions, const Sizes& example) {
  std::set<int64_t> taken;
  std::vector<std::vector<int64_t>> each;
  size_t count = instance_count;
  for (const Dimension& dimension : dimensions) {
    each.push_back(spread(dimension, example.at(dimension.name), taken));
    if (each.back().size() < 2)
      return user_error("sizes", format("{}: a range of one size is no range", text(dimension)),
                        "leave the dimension out: it is then as the example has it");
    count = std::max(count, each.back().size());
  }
  std::vector<Sizes> out(count);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const std::vector<int64_t>& own = each[d];
    const size_t large = std::min<size_t>(2, own.size() - 1);
    for (size_t i = 0; i < count; ++i) {
      // All are large together in the last, which decides where 32 bits do; else no two grow together.
      size_t which = i == 0 ? 0 : i + 1 == count ? large : 1 + (i - 1 + d) % (own.size() - 1);
      if (i > 0 && i + 1 < count && which == large) which = own.size() - 1;
      if (i + 2 == count && d % 2 == 1) which = 0;
      out[i][dimensions[d].name] = own[which];
    }
  }
  return out;
}

Sizes largest_sizes(const Dimensions& dimensions) {
  Sizes out;
  // At the very end a model may be another: all of a table of positions is no slice of it.
  for (const Dimension& dimension : dimensions) {
    const int64_t steps = dimension.most / dimension.multiple, less = std::max<int64_t>(steps - 2, 1);
    out[dimension.name] = (less * dimension.multiple >= dimension.least ? less : steps) * dimension.multiple;
  }
  return out;
}

Result<Sizes> sizes_of(const Dimensions& dimensions, const Graph& graph) {
  const std::vector<ValueId> inputs = graph.inputs();
  Sizes out;
  for (const Dimension& dimension : dimensions)
    for (const Dimension::Place& place : dimension.places) {
      if (place.input < 0 || static_cast<size_t>(place.input) >= inputs.size())
        return user_error("sizes", format("{}: there is no input {}; the model has {}", text(dimension),
                                          place.input, inputs.size()));
      const Value& input = graph[inputs[static_cast<size_t>(place.input)]];
      if (place.dim < 0 || place.dim >= input.type.rank())
        return user_error("sizes", format("{}: '{}' is {} and has no dimension {}", text(dimension),
                                          input.name, text(input.type), place.dim));
      const int64_t size = input.type.shape[static_cast<size_t>(place.dim)];
      if (!dimension.contains(size))
        return user_error(
            "sizes",
            format("{} is outside of {}: dimension {} of '{}'", size, text(dimension), place.dim, input.name),
            "the task's own sizes lie within the ranges: change get_inputs() or the range");
      if (auto [found, is_new] = out.emplace(dimension.name, size); !is_new && found->second != size)
        return user_error("sizes",
                          format("{} is {} in one input and {} in '{}', dimension {}", dimension.name,
                                 found->second, size, input.name, place.dim),
                          "sizes that differ in the task's own inputs are two dimensions with a range each");
    }
  return out;
}

Result<void> check_same_form(const Instance& one, const Instance& other) {
  const Graph &a = one.graph, &b = other.graph;
  auto differs = [&](const std::string& where, const std::string& first, const std::string& second) {
    return at(
        where,
        user_error("sizes",
                   format("the model is another at other sizes: with {} it computes {}, with {} {}",
                          text(one.sizes), first, text(other.sizes), second),
                   "narrow the ranges to sizes for which the model takes the same path, or fix the size"));
  };
  for (size_t n = 0; n < std::min(a.nodes.size(), b.nodes.size()); ++n)
    if (!same_form(a.nodes[n], b.nodes[n]))
      return differs(a.nodes[n].where, print_node(a, a.nodes[n]), print_node(b, b.nodes[n]));
  if (a.nodes.size() != b.nodes.size())
    return differs({}, format("{} nodes", a.nodes.size()), format("{} nodes", b.nodes.size()));
  if (a.values.size() != b.values.size() || a.outputs != b.outputs || a.updates.size() != b.updates.size())
    return differs({}, "other values", "other values");
  for (size_t v = 0; v < a.values.size(); ++v)
    if (!same_form(a.values[v], b.values[v]))
      return differs({}, format("'{}' as {}", a.values[v].name, text(a.values[v].type)),
                     format("'{}' as {}", b.values[v].name, text(b.values[v].type)));
  return {};
}

}  // namespace stitch
