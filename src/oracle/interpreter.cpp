#include "oracle/interpreter.h"

#include <algorithm>
#include <new>

#include "base/error_codes.h"
#include "base/text.h"
#include "oracle/call.h"

namespace stitch::oracle {

namespace {

std::string place(const Graph& graph, const Node& node) {
  std::string name = node.results.empty() ? std::string(info(node.op).name) : graph[node.results[0]].name;
  return node.where.empty() ? name : format("{} ({})", name, node.where);
}

Error out_of_memory(const Graph& graph, const Node& node) {
  std::string sizes;
  for (ValueId id : node.results)
    sizes += format("{}'{}' {} takes {} in float64", sizes.empty() ? "" : ", ", graph[id].name,
                    text(graph.type(id)), bytes_text(8.0 * static_cast<double>(graph.type(id).elements())));
  return work_error(error_code::memory,
                    format("not enough memory to compute {}: {}", info(node.op).name, sizes),
                    "use smaller inputs, or a machine with more memory");
}

bool matches(const Tensor& tensor, const TensorType& type) {
  return tensor.dtype() == type.dtype && tensor.shape() == type.shape;
}

Error missing(const Graph& graph, ValueId id) {
  const Value& value = graph[id];
  return at(value.name, user_error("missing_value", format("the {} '{}' has no data to compute with",
                                                           name(value.role), value.name)));
}

Result<void> check_known(const Graph& graph, const Known& known) {
  for (const auto& [id, tensor] : known) {
    const Value& value = graph[id];
    if (!matches(tensor, value.type))
      return at(value.name, user_error("ill_typed",
                                       format("'{}' is {}, and the data given for it {}{}", value.name,
                                              text(value.type), name(tensor.dtype()), text(tensor.shape()))));
  }
  return {};
}

// The nodes between known and wanted values, in order; found backwards from the wanted ones.
std::vector<size_t> needed_nodes(const Graph& graph, const Known& known, std::span<const ValueId> wanted) {
  std::vector<bool> needed(graph.values.size());
  auto need = [&](ValueId id) {
    if (id != ValueId::none && !known.contains(id)) needed[index_of(id)] = true;
  };
  std::ranges::for_each(wanted, need);
  std::vector<size_t> nodes;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (std::ranges::none_of(node.results, [&](ValueId id) { return needed[index_of(id)]; })) continue;
    std::ranges::for_each(node.operands, need);
    nodes.push_back(n);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

Result<std::vector<Tensor>> run(const Graph& graph, const std::vector<size_t>& nodes, Known known,
                                std::span<const ValueId> wanted, const Progress& progress) {
  STITCH_CHECK(check_known(graph, known));
  // Remaining reads of each value; being wanted counts as one.
  std::vector<int64_t> uses(graph.values.size());
  for (size_t n : nodes)
    for (ValueId id : graph.nodes[n].operands)
      if (id != ValueId::none) ++uses[index_of(id)];
  for (ValueId id : wanted) ++uses[index_of(id)];
  std::erase_if(known, [&](const auto& entry) { return uses[index_of(entry.first)] == 0; });

  for (size_t n : nodes) {
    const Node& node = graph.nodes[n];
    if (progress) progress(n);
    std::vector<const Tensor*> operands;
    for (ValueId id : node.operands) {
      if (id == ValueId::none) {
        operands.push_back(nullptr);
        continue;
      }
      auto found = known.find(id);
      if (found == known.end()) return missing(graph, id);
      operands.push_back(&found->second);
    }
    STITCH_TRY(std::vector<Tensor> results, evaluate_node(graph, node, operands));
    for (ValueId id : node.operands)
      if (id != ValueId::none && --uses[index_of(id)] == 0) known.erase(id);
    for (size_t i = 0; i < results.size(); ++i)
      if (uses[index_of(node.results[i])] > 0) known.try_emplace(node.results[i], std::move(results[i]));
  }

  std::vector<Tensor> out;
  for (ValueId id : wanted) {
    auto found = known.find(id);
    if (found == known.end()) return missing(graph, id);
    out.push_back(found->second);
  }
  return out;
}

}  // namespace

Result<std::vector<Tensor>> evaluate_node(const Graph& graph, const Node& node,
                                          std::span<const Tensor* const> operands) {
  require(operands.size() == node.operands.size(), "an operand, or null, for each of the node's");
  for (size_t i = 0; i < operands.size(); ++i)
    require(operands[i]
                ? node.operands[i] != ValueId::none && matches(*operands[i], graph.type(node.operands[i]))
                : node.operands[i] == ValueId::none,
            "operands have the graph's types");
  try {
    Outcome outcome = evaluator(node.op)({graph, node, operands});
    if (!outcome) return at(place(graph, node), std::move(outcome).error());
    require(outcome->size() == node.results.size(), "a tensor for each of the node's results");
    for (size_t i = 0; i < outcome->size(); ++i)
      require(matches((*outcome)[i], graph.type(node.results[i])), "results have the graph's types");
    return outcome;
  } catch (const std::bad_alloc&) {
    return at(place(graph, node), out_of_memory(graph, node));
  }
}

Result<std::vector<Tensor>> evaluate(const Graph& graph, Known known, std::span<const ValueId> wanted,
                                     const Progress& progress) {
  std::vector<size_t> nodes = needed_nodes(graph, known, wanted);
  return run(graph, nodes, std::move(known), wanted, progress);
}

Known leaves_of(const Graph& graph, const Known& known, std::span<const ValueId> wanted) {
  Known out;
  auto keep = [&](ValueId id) {
    if (auto found = known.find(id); found != known.end()) out.insert(*found);
  };
  std::ranges::for_each(wanted, keep);
  for (size_t n : needed_nodes(graph, known, wanted)) std::ranges::for_each(graph.nodes[n].operands, keep);
  return out;
}

}  // namespace stitch::oracle
