#include <algorithm>
#include <set>

#include "graph/graph.h"

namespace stitch {

namespace {

Error invalid(const std::string& name, std::string message) {
  return at("%" + name, user_error("invalid_graph", std::move(message)));
}

Result<void> check_value(const Value& value, const Graph& graph, ValueId id) {
  if (value.name.empty()) return user_error("invalid_graph", "a value has no name");
  if (graph.find(value.name) != id) return invalid(value.name, "two values have this name");
  if (!shape_fits(value.type.shape))
    return invalid(value.name, format("the shape {} is not a usable one", text(value.type.shape)));
  if (!value.type.strides.empty() &&
      (value.role != Role::input || value.type.strides.size() != value.type.shape.size()))
    return invalid(value.name, "only an input has strides, one for each dimension");
  if (value.has_data() == value.data.empty())
    return invalid(value.name, value.data.empty() ? format("a {} needs data", name(value.role))
                                                  : format("a {} has no data", name(value.role)));
  if (value.role == Role::seed && (value.type.dtype != DType::i64 || value.type.rank() != 0))
    return invalid(value.name, "a seed is one i64");
  return {};
}

Result<void> check_node(const Graph& graph, const Node& node, std::vector<bool>& ready) {
  std::string label = node.results.empty() || index_of(node.results[0]) >= graph.values.size()
                          ? std::string(info(node.op).name)
                          : graph[node.results[0]].name;
  for (ValueId id : node.operands) {
    if (id == ValueId::none) continue;
    if (index_of(id) >= graph.values.size()) return invalid(label, "an operand is no value of this graph");
    if (!ready[index_of(id)])
      return invalid(
          label, format("uses %{} before it is computed (a cycle, or nodes out of order)", graph[id].name));
  }
  auto complete_attributes = complete(info(node.op), node.attributes);
  if (!complete_attributes) return at("%" + label, std::move(complete_attributes).error());
  if (!(*complete_attributes == node.attributes))
    return invalid(label, "its attributes are not in registry order, or not all there");
  auto types = infer(graph, node);
  if (!types) return at("%" + label, std::move(types).error());
  if (types->size() != node.results.size())
    return invalid(
        label, format("{} has {} results, not {}", info(node.op).name, types->size(), node.results.size()));
  for (size_t i = 0; i < types->size(); ++i) {
    ValueId id = node.results[i];
    if (index_of(id) >= graph.values.size()) return invalid(label, "a result is no value of this graph");
    const Value& value = graph[id];
    if (value.role != Role::result)
      return invalid(value.name, format("is computed, but said to be a {}", name(value.role)));
    if (ready[index_of(id)]) return invalid(value.name, "is computed twice");
    if (value.type != (*types)[i])
      return invalid(value.name, format("is said to be {}, but {} gives {}", text(value.type),
                                        info(node.op).name, text((*types)[i])));
    ready[index_of(id)] = true;
  }
  return {};
}

}  // namespace

Result<void> verify(const Graph& graph) {
  std::vector<bool> ready(graph.values.size());
  int seeds = 0;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    STITCH_CHECK(check_value(graph.values[i], graph, static_cast<ValueId>(i)));
    ready[i] = graph.values[i].role != Role::result;
    seeds += graph.values[i].role == Role::seed;
  }
  if (seeds > 1) return user_error("invalid_graph", "a graph has at most one seed");
  for (const Node& node : graph.nodes) STITCH_CHECK(check_node(graph, node, ready));
  for (size_t i = 0; i < ready.size(); ++i)
    if (!ready[i]) return invalid(graph.values[i].name, "no node computes it");
  for (ValueId id : graph.outputs)
    if (index_of(id) >= graph.values.size())
      return user_error("invalid_graph", "an output is no value of this graph");
  std::set<ValueId> updated;
  for (const Update& update : graph.updates) {
    if (index_of(update.target) >= graph.values.size() || index_of(update.value) >= graph.values.size())
      return user_error("invalid_graph", "an update names no value of this graph");
    const Value& target = graph[update.target];
    if (!target.has_data() && target.role != Role::input)
      return invalid(target.name, format("is updated, but is a {}", name(target.role)));
    if (!updated.insert(update.target).second) return invalid(target.name, "is updated twice");
    if (target.type != graph.type(update.value))
      return invalid(target.name, format("is {}, but its update is {}", text(target.type),
                                         text(graph.type(update.value))));
  }
  return {};
}

}  // namespace stitch
