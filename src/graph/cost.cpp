#include "graph/cost.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace stitch {

namespace {

bool is_view(const Node& node) { return info(node.op).family == Family::view; }

// Values that share one tensor under several names share its memory: tied parameters.
class Tied {
 public:
  bool first_time(const Value& value) {
    return !value.has_data() || value.data.empty() || seen_.insert(value.data).second;
  }

 private:
  std::set<std::string_view> seen_;
};

// Bytes of `id` that the node reads.
double bytes_read(const Graph& graph, const Node& node, ValueId id) {
  bool picks = node.op == Op::slice || node.op == Op::gather || node.op == Op::index;
  double whole = static_cast<double>(graph.type(id).bytes());
  if (!picks || node.operands[0] != id) return whole;
  return std::min(whole, static_cast<double>(graph.type(node.results[0]).bytes()));
}

double boundary(const Graph& graph) {
  auto used_by = users(graph);
  double bytes = 0;
  Tied tied;
  for (ValueId id : graph.leaves()) {
    const Value& value = graph[id];
    // A program may fold constants into its code; a seed is a scalar.
    if (value.role == Role::constant || value.role == Role::seed) continue;
    double read = 0;
    for (int32_t n : used_by[index_of(id)]) read += bytes_read(graph, graph.node(n), id);
    read = std::min(read, static_cast<double>(value.type.bytes()));
    if (read > 0 && tied.first_time(value)) bytes += read;
  }
  std::set<ValueId> written;
  for (ValueId id : graph.outputs) written.insert(id);
  for (const Update& update : graph.updates) written.insert(update.value);
  for (ValueId id : written) bytes += static_cast<double>(graph.type(id).bytes());
  return bytes;
}

int64_t peak_of_results(const Graph& graph) {
  // The value that owns the memory a value lives in.
  std::vector<size_t> owner(graph.values.size());
  for (size_t i = 0; i < owner.size(); ++i) owner[i] = i;
  for (const Node& node : graph.nodes)
    if (is_view(node)) owner[index_of(node.results[0])] = owner[index_of(node.operands[0])];

  size_t end = graph.nodes.size();
  std::vector<size_t> last_use(graph.values.size(), 0);
  auto use = [&](ValueId id, size_t n) {
    if (id == ValueId::none) return;
    size_t& last = last_use[owner[index_of(id)]];
    last = std::max(last, n);
  };
  for (size_t n = 0; n < end; ++n) {
    for (ValueId id : graph.nodes[n].operands) use(id, n);
    for (ValueId id : graph.nodes[n].results) use(id, n);
  }
  for (ValueId id : graph.outputs) use(id, end);
  for (const Update& update : graph.updates) use(update.value, end);

  std::vector<int64_t> freed_after(end + 1, 0);
  int64_t live = 0, peak = 0;
  for (size_t n = 0; n < end; ++n) {
    for (ValueId id : graph.nodes[n].results) {
      size_t i = index_of(id);
      if (owner[i] != i) continue;
      live += graph.type(id).bytes();
      freed_after[last_use[i]] += graph.type(id).bytes();
    }
    peak = std::max(peak, live);
    live -= freed_after[n];
  }
  return peak;
}

}  // namespace

GraphCost cost(const Graph& graph) {
  GraphCost out;
  for (const Node& node : graph.nodes) {
    out.nodes.push_back(cost(graph, node));
    out.total += out.nodes.back();
  }
  out.boundary_bytes = boundary(graph);
  Tied tied;
  for (ValueId id : graph.leaves()) {
    const Value& value = graph[id];
    if (!tied.first_time(value)) continue;
    if (value.role == Role::parameter) out.parameters += value.type.elements();
    out.leaf_bytes += value.type.bytes();
  }
  out.peak_bytes = out.leaf_bytes + peak_of_results(graph);
  return out;
}

}  // namespace stitch
