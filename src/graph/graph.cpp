#include "graph/graph.h"

#include <algorithm>
#include <array>

namespace stitch {

std::string_view name(Role role) {
  constexpr std::array<std::string_view, 6> names = {"input",    "parameter", "buffer",
                                                     "constant", "seed",      "result"};
  return names[static_cast<size_t>(role)];
}

std::vector<ValueId> Graph::leaves() const {
  std::vector<ValueId> out;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].role != Role::result) out.push_back(static_cast<ValueId>(i));
  return out;
}

std::vector<ValueId> Graph::with_role(Role role) const {
  std::vector<ValueId> out;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].role == role) out.push_back(static_cast<ValueId>(i));
  return out;
}

std::vector<ValueId> Graph::inputs() const { return with_role(Role::input); }

ValueId Graph::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? ValueId::none : found->second;
}

std::string Graph::unique_name(std::string_view wanted) {
  if (wanted.empty()) wanted = "v";
  if (!by_name_.contains(wanted)) return std::string(wanted);
  auto [suffix, fresh] = next_suffix_.try_emplace(std::string(wanted), 2);
  std::string name;
  do name = format("{}_{}", wanted, suffix->second++);
  while (by_name_.contains(name));
  return name;
}

void Graph::rename(ValueId id, std::string_view wanted) {
  Value& value = values[index_of(id)];
  by_name_.erase(value.name);
  value.name = unique_name(wanted);
  by_name_[value.name] = id;
}

ValueId Graph::add_leaf(Role role, std::string_view name, TensorType type, std::string data) {
  ValueId id = static_cast<ValueId>(values.size());
  std::string own = unique_name(name);
  by_name_[own] = id;
  values.push_back({std::move(own), std::move(type), role, std::move(data)});
  return id;
}

Result<std::vector<ValueId>> Graph::add_node(Op op, std::vector<ValueId> operands,
                                             const Attributes& attributes, std::string_view result_name,
                                             std::string where, std::string module) {
  const OpInfo& entry = info(op);
  STITCH_TRY(Attributes complete_attributes, complete(entry, attributes));
  if (!entry.variadic() && operands.size() < entry.operands.size())
    operands.resize(entry.operands.size(), ValueId::none);
  Node node{op, std::move(operands), {}, std::move(complete_attributes), std::move(where), std::move(module)};
  STITCH_TRY(ResultTypes types, infer(*this, node));
  for (size_t i = 0; i < types.size(); ++i) {
    std::string_view base = result_name.empty() ? entry.name : result_name;
    std::string own = unique_name(i == 0 ? std::string(base) : format("{}.{}", base, i));
    ValueId id = static_cast<ValueId>(values.size());
    by_name_[own] = id;
    values.push_back({std::move(own), std::move(types[i]), Role::result, {}});
    node.results.push_back(id);
  }
  nodes.push_back(std::move(node));
  return nodes.back().results;
}

namespace {
std::vector<const TensorType*> operand_types(const Graph& graph, const Node& node) {
  std::vector<const TensorType*> types;
  for (ValueId id : node.operands) types.push_back(id == ValueId::none ? nullptr : &graph.type(id));
  return types;
}

Result<void> check_arity(const OpInfo& entry, const Node& node) {
  size_t fixed = entry.operands.size() - (entry.variadic() ? 1 : 0);
  if (node.operands.size() < fixed || (!entry.variadic() && node.operands.size() > fixed))
    return user_error("ill_typed", format("{} takes {}{} operands, not {}", entry.name,
                                          entry.variadic() ? "at least " : "", fixed, node.operands.size()));
  for (size_t i = 0; i < node.operands.size(); ++i) {
    bool may_be_absent = i < fixed && entry.operands[i].kind == OperandSpec::optional;
    if (node.operands[i] == ValueId::none && !may_be_absent)
      return user_error("ill_typed", format("{}'s operand {} is missing", entry.name,
                                            entry.operands[std::min(i, entry.operands.size() - 1)].name));
  }
  if (entry.variadic() && fixed == 0 && node.operands.empty())
    return user_error("ill_typed", format("{} of nothing", entry.name));
  return {};
}
}  // namespace

Result<ResultTypes> infer(const Graph& graph, const Node& node) {
  const OpInfo& entry = info(node.op);
  STITCH_CHECK(check_arity(entry, node));
  auto types = operand_types(graph, node);
  return entry.infer(types, node.attributes);
}

Cost cost(const Graph& graph, const Node& node) {
  auto types = operand_types(graph, node);
  ResultTypes results;
  for (ValueId id : node.results) results.push_back(graph.type(id));
  return info(node.op).cost(types, node.attributes, results);
}

std::vector<std::vector<int32_t>> users(const Graph& graph) {
  std::vector<std::vector<int32_t>> out(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (ValueId id : graph.nodes[n].operands) {
      if (id == ValueId::none) continue;
      auto& list = out[index_of(id)];
      if (list.empty() || list.back() != static_cast<int32_t>(n)) list.push_back(static_cast<int32_t>(n));
    }
  return out;
}

std::vector<int32_t> producers(const Graph& graph) {
  std::vector<int32_t> out(graph.values.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (ValueId id : graph.nodes[n].results) out[index_of(id)] = static_cast<int32_t>(n);
  return out;
}

Graph compact(const Graph& graph) {
  std::vector<bool> used(graph.values.size());
  auto use = [&](ValueId id) {
    if (id != ValueId::none) used[index_of(id)] = true;
  };
  for (const Node& node : graph.nodes) {
    std::ranges::for_each(node.operands, use);
    std::ranges::for_each(node.results, use);
  }
  std::ranges::for_each(graph.outputs, use);
  for (const Update& update : graph.updates) {
    use(update.target);
    use(update.value);
  }
  Graph out;
  out.name = graph.name;
  std::vector<ValueId> renamed(graph.values.size(), ValueId::none);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    bool expendable = value.role == Role::result || value.role == Role::constant;
    if (!used[i] && expendable) continue;
    renamed[i] = static_cast<ValueId>(out.values.size());
    out.by_name_[value.name] = renamed[i];
    out.values.push_back(value);
  }
  auto rename = [&](ValueId& id) {
    if (id != ValueId::none) id = renamed[index_of(id)];
  };
  out.nodes = graph.nodes;
  for (Node& node : out.nodes) {
    std::ranges::for_each(node.operands, rename);
    std::ranges::for_each(node.results, rename);
  }
  out.outputs = graph.outputs;
  std::ranges::for_each(out.outputs, rename);
  out.updates = graph.updates;
  for (Update& update : out.updates) {
    rename(update.target);
    rename(update.value);
  }
  return out;
}

}  // namespace stitch
