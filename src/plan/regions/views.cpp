#include "plan/regions/views.h"

#include <algorithm>
#include <optional>

#include "plan/regions/grouping.h"
#include "plan/regions/layouts.h"

namespace stitch::plan {

bool is_strided_view(Op op) {
  return op == Op::permute || op == Op::reshape || op == Op::expand || op == Op::slice;
}

namespace {

// What a product's region may take over: a constant that what follows the product needs, or a view.
bool can_be_taken(const Graph& graph, const Region& region, const Region& product,
                  const std::vector<int32_t>& users) {
  if (region.nodes.size() != 1) return false;
  const Node& node = graph.node(region.nodes[0]);
  auto every_user = [&](auto fits) {
    return std::ranges::all_of(users, [&](int32_t n) {
      return std::ranges::find(product.nodes, n) != product.nodes.end() && fits(graph.node(n));
    });
  };
  const Kind kind = kind_of(graph, product);
  const bool weight = is_strided_view(node.op) && graph[node.operands[0]].has_data();
  if (node.op == Op::full || (kind == Kind::convolution && weight))
    return (kind == Kind::product || kind == Kind::convolution) &&
           every_user([](const Node& user) { return info(user.op).family == Family::pointwise; });
  return is_strided_view(node.op) && kind == Kind::product && every_user([](const Node&) { return true; });
}

bool is_result(const Graph& graph, ValueId value) {
  return std::ranges::find(graph.outputs, value) != graph.outputs.end() ||
         std::ranges::find(graph.updates, value, &Update::value) != graph.updates.end();
}

}  // namespace

Result<Plan> take_views(const Context& context, Plan plan) {
  const Graph& graph = context.graph;
  std::vector<std::vector<int32_t>> used_by = users(graph);
  // From the end, so that a view of a view follows it.
  for (size_t p = plan.regions.size(); p-- > 0;) {
    for (size_t v = p; v-- > 0;) {
      Region& product = plan.regions[p];
      const Region& view = plan.regions[v];
      if (view.nodes.empty() || product.nodes.empty() || view.writes.size() != 1) continue;
      ValueId value = view.writes[0];
      if (is_result(graph, value) || !can_be_taken(graph, view, product, used_by[index_of(value)])) continue;
      Region both = product;
      both.nodes.insert(both.nodes.begin(), view.nodes.begin(), view.nodes.end());
      std::ranges::sort(both.nodes);
      complete(graph, both);
      // The Coder takes reads for row-major when it looks for strides.
      bool row_major = std::ranges::all_of(
          both.reads, [&](ValueId id) { return plan.storage[index_of(id)].order.empty(); });
      if (!row_major || !both.technique->accepts(context, both)) continue;
      product = std::move(both);
      plan.regions[v] = {};
    }
  }
  std::erase_if(plan.regions, [](const Region& region) { return region.nodes.empty(); });
  return plan;
}

namespace {

// A depthwise convolution, or one that multiplies 16-bit images, has nothing to transpose where a linear
// layer left the image, pixel after pixel, if what it makes is wanted so, too.
bool convolves_pixels(const Graph& graph, const Region& region) {
  const Node* node = convolution_in(graph, region);
  if (!node || node->op != Op::conv || !has_channels_from_last(graph, node->operands[0])) return false;
  const bool depthwise = node->attributes.integer("groups") > 1 &&
                         node->attributes.integer("groups") == graph.type(node->operands[0]).shape[1];
  const bool narrow = size_of(graph.type(node->results[0]).dtype) == 2;
  return (depthwise || narrow) && is_wanted_channels_last(graph, node->results[0]);
}

}  // namespace

Result<Plan> absorb_views(const Context& context, Plan plan, const Catalogue&) {
  const Graph& graph = context.graph;
  Grouping groups(graph, std::move(plan.regions));
  // A concat is two tensors that attention reads where they are, if its technique can.
  auto only_views = [&](const Region& region) {
    return std::ranges::all_of(region.nodes, [&](int32_t n) {
      const Op op = graph.node(n).op;
      return is_strided_view(op) || op == Op::concat;
    });
  };
  // From the end: a chain of views is taken over from its last one on.
  for (size_t r = groups.size(); r-- > 0;) {
    if (!groups.alive(r) || !only_views(groups[r])) continue;
    std::set<size_t> next = groups.consumers(r);
    if (next.size() != 1 || groups[r].writes.size() != 1) continue;
    const size_t consumer = *next.begin();
    const Region& reader = groups[consumer];
    const Kind kind = kind_of(graph, reader);
    if (reader.technique->entry() == Entry::plain ||
        (kind != Kind::attention && !(kind == Kind::convolution && convolves_pixels(graph, reader))))
      continue;
    Region both = groups.merged(r, consumer);
    std::ranges::sort(both.nodes);
    both.technique = reader.technique;
    both.offer = reader.offer;
    both.choices = reader.choices;
    both.name = reader.name;
    if (both.writes != reader.writes || !both.technique->accepts(context, both)) continue;
    groups.merge(consumer, r, std::move(both));
  }
  plan.regions = groups.in_order();
  return plan;
}

namespace {

// Where dimension `dim` of `from` is in `to`, a reshape of it: nothing if it was cut or joined.
std::optional<size_t> reshaped_dim(const Shape& from, const Shape& to, size_t dim) {
  const int64_t before = element_count({from.begin(), from.begin() + static_cast<std::ptrdiff_t>(dim)});
  int64_t counted = 1;
  for (size_t d = 0; d < to.size(); ++d) {
    if (counted == before && to[d] == from[dim]) return d;
    counted *= to[d];
  }
  return std::nullopt;
}

bool is_last(const Shape& shape, size_t dim) {
  return element_count({shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, shape.end()}) == 1;
}

bool is_wanted_last(const Graph& graph, const std::vector<std::vector<int32_t>>& used_by, ValueId id,
                    size_t dim, int steps) {
  const std::vector<int32_t>& readers = used_by[index_of(id)];
  if (readers.empty() || steps == 0 || std::ranges::find(graph.outputs, id) != graph.outputs.end())
    return false;
  return std::ranges::all_of(readers, [&](int32_t n) {
    const Node& node = graph.node(n);
    const ValueId result = node.results[0];
    const Shape &from = graph.type(id).shape, &to = graph.type(result).shape;
    if (node.op == Op::permute) {
      const auto& dims = node.attributes.integers("dims");
      const auto at = static_cast<size_t>(std::ranges::find(dims, static_cast<int64_t>(dim)) - dims.begin());
      return is_last(to, at) || is_wanted_last(graph, used_by, result, at, steps - 1);
    }
    if (node.op == Op::reshape) {
      const auto at = reshaped_dim(from, to, dim);
      return at && is_wanted_last(graph, used_by, result, *at, steps - 1);
    }
    return info(node.op).family == Family::pointwise && from == to &&
           is_wanted_last(graph, used_by, result, dim, steps - 1);
  });
}

}  // namespace

bool has_channels_from_last(const Graph& graph, ValueId image) {
  const std::vector<int32_t> makers = producers(graph);
  size_t dim = 1;
  bool moved = false;
  for (ValueId id = image;;) {
    const int32_t maker = makers[index_of(id)];
    const Node* node = maker < 0 ? nullptr : &graph.node(maker);
    if (!node || (node->op != Op::permute && node->op != Op::reshape))
      return moved && is_last(graph.type(id).shape, dim);
    const ValueId from = node->operands[0];
    if (node->op == Op::permute) {
      dim = static_cast<size_t>(node->attributes.integers("dims")[dim]);
      moved = true;
    } else {
      const auto at = reshaped_dim(graph.type(id).shape, graph.type(from).shape, dim);
      if (!at) return false;
      dim = *at;
    }
    id = from;
  }
}

bool is_wanted_channels_last(const Graph& graph, ValueId image) {
  constexpr int far_enough = 8;
  return is_wanted_last(graph, users(graph), image, 1, far_enough);
}

}  // namespace stitch::plan
