#include <algorithm>

#include "base/terminal/wording.h"
#include "program/manifest.h"

namespace stitch {

namespace {

// Read by a node, or handed on as it is.
std::vector<bool> read_values(const Graph& graph) {
  std::vector<bool> read(graph.values.size());
  auto mark = [&](ValueId id) {
    if (id != ValueId::none) read[index_of(id)] = true;
  };
  for (const Node& node : graph.nodes) std::ranges::for_each(node.operands, mark);
  std::ranges::for_each(graph.outputs, mark);
  for (const Update& update : graph.updates) mark(update.value);
  return read;
}

}  // namespace

TensorType Slot::stored() const {
  if (order.empty()) return {type.dtype, type.shape, {}};
  Shape shape;
  for (int64_t dim : order) shape.push_back(type.shape[static_cast<size_t>(dim)]);
  return {type.dtype, shape, {}};
}

Signature signature_of(const Graph& graph) {
  std::vector<bool> read = read_values(graph);
  std::vector<bool> updated(graph.values.size());
  for (const Update& update : graph.updates) updated[index_of(update.target)] = true;

  Signature out;
  auto tensor = [&](ValueId id, std::string_view role) {
    const Value& value = graph[id];
    return ManifestTensor{value.name, std::string(role), value.type, value.data, {}};
  };
  for (ValueId id : graph.inputs()) out.inputs.push_back(tensor(id, "input"));
  for (ValueId id : graph.leaves()) {
    if (!graph[id].has_data() || !read[index_of(id)]) continue;
    if (updated[index_of(id)])
      out.inputs.push_back(tensor(id, "state"));
    else
      out.parameters.push_back(tensor(id, name(graph[id].role)));
  }
  for (ValueId id : graph.with_role(Role::seed)) out.inputs.push_back(tensor(id, "seed"));

  auto result = [&](ValueId id, std::string_view role) {
    ManifestTensor made = tensor(id, role);
    made.type.strides.clear();  // an input handed on is written like any other output
    made.data.clear();
    return made;
  };
  for (ValueId id : graph.outputs) out.outputs.push_back(result(id, "output"));
  for (const Update& update : graph.updates) {
    ManifestTensor made = result(update.value, "update");
    made.target = graph[update.target].name;
    made.data = graph[update.target].data;
    made.type.strides = graph[update.target].type.strides;
    out.outputs.push_back(std::move(made));
  }
  return out;
}

namespace {

bool same_tensor(const ManifestTensor& a, const ManifestTensor& b) {
  return a.role == b.role && a.type.dtype == b.type.dtype && a.type.shape == b.type.shape && a.data == b.data;
}

std::string difference(std::string_view what, const std::vector<ManifestTensor>& program,
                       const std::vector<ManifestTensor>& task) {
  if (program.size() != task.size())
    return format("the program has {}, the task has {}", counted(std::ssize(program), what), task.size());
  for (size_t i = 0; i < task.size(); ++i)
    if (!same_tensor(program[i], task[i]))
      return format("{} {} is the {} '{}' {} in the program and the {} '{}' {} in the task", what, i,
                    program[i].role, program[i].name, text(program[i].type), task[i].role, task[i].name,
                    text(task[i].type));
  return "";
}

}  // namespace

std::string difference(const Signature& program, const Signature& task) {
  std::string out = difference("parameter", program.parameters, task.parameters);
  if (out.empty()) out = difference("input", program.inputs, task.inputs);
  if (out.empty()) out = difference("output", program.outputs, task.outputs);
  return out;
}

}  // namespace stitch
