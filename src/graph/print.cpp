#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "graph/text.h"

namespace stitch {

namespace {

std::string reference(const Graph& graph, ValueId id) {
  if (id == ValueId::none) return "none";
  const std::string& name = graph[id].name;
  bool plain =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
  return "%" + (plain ? name : quote(name));
}

template <class Range, class Print>
std::string comma_separated(const Range& range, Print print) {
  std::string out;
  for (const auto& item : range) {
    if (!out.empty()) out += ", ";
    out += print(item);
  }
  return out;
}

}  // namespace

std::string print_node(const Graph& graph, const Node& node) {
  const OpInfo& entry = info(node.op);
  auto refer = [&](ValueId id) { return reference(graph, id); };
  std::vector<ValueId> operands = node.operands;
  if (!entry.variadic())
    while (!operands.empty() && operands.back() == ValueId::none) operands.pop_back();
  std::string line = format("{} = {}({})", comma_separated(node.results, refer), entry.name,
                            comma_separated(operands, refer));
  size_t i = 0;
  for (const auto& [key, value] : node.attributes) {
    const AttributeSpec& spec = entry.attributes[i++];
    if (spec.required || !same(value, spec.value)) line += format(" {}={}", key, text(value));
  }
  line += " : " + comma_separated(node.results, [&](ValueId id) { return text(graph.type(id)); });
  if (!node.where.empty() || !node.module.empty()) line += " @ " + quote(node.where);
  if (!node.module.empty()) line += " " + quote(node.module);
  return line;
}

std::string print_graph(const Graph& graph) {
  std::string out = format("graph {}\n", quote(graph.name));
  for (ValueId id : graph.leaves()) {
    const Value& value = graph[id];
    out += format("{} {} : {}", name(value.role), reference(graph, id), text(value.type));
    if (value.has_data() && value.data != value.name) out += " = " + quote(value.data);
    out += '\n';
  }
  out += '\n';
  for (const Node& node : graph.nodes) out += print_node(graph, node) + '\n';
  out += '\n';
  for (ValueId id : graph.outputs) out += format("output {}\n", reference(graph, id));
  for (const Update& update : graph.updates)
    out += format("update {} = {}\n", reference(graph, update.target), reference(graph, update.value));
  return out + "end\n";
}

}  // namespace stitch
