#include "plan/cost/live_memory.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "plan/constants.h"

namespace stitch::plan {

namespace {

// From time `first` to time `last`, both included.
class Timeline {
 public:
  explicit Timeline(size_t times) : change_(times + 1) {}

  void add(size_t first, size_t last, int64_t bytes) {
    change_[first] += bytes;
    change_[std::min(last + 1, change_.size() - 1)] -= bytes;
  }
  std::vector<int64_t> bytes() const {
    std::vector<int64_t> out(change_.size() - 1);
    int64_t now = 0;
    for (size_t t = 0; t < out.size(); ++t) out[t] = now += change_[t];
    return out;
  }

 private:
  std::vector<int64_t> change_;
};

std::vector<bool> kept_to_the_end(const Graph& graph) {
  std::vector<bool> out(graph.values.size());
  for (ValueId id : graph.outputs) out[index_of(id)] = true;
  for (const Update& update : graph.updates) out[index_of(update.value)] = true;
  return out;
}

int64_t stored_bytes(const Graph& graph, const Plan& plan, ValueId id) {
  return graph.type(id).elements() * size_of(plan.storage[index_of(id)].dtype);
}

}  // namespace

LiveMemory live_memory(const Context& context, const Plan& plan) {
  const Graph& graph = context.graph;
  const size_t count = plan.regions.size();
  std::vector<size_t> begin(count), end(count);
  for (size_t r = 0; r < count; ++r) begin[r] = end[r] = r;
  for (const Section& section : sections_of(plan))
    for (size_t r = section.first; r < section.end; ++r) begin[r] = section.first, end[r] = section.end - 1;
  const std::vector<bool> constant = constant_regions(graph, plan), kept = kept_to_the_end(graph);
  std::map<ValueId, std::pair<size_t, size_t>> lives;
  Timeline timeline(count);
  for (size_t r = 0; r < count; ++r) {
    const Region& region = plan.regions[r];
    if (constant[r]) continue;
    for (ValueId id : region.reads)
      if (auto life = lives.find(id); life != lives.end())
        life->second.second = std::max(life->second.second, end[r]);
    for (ValueId id : region.writes) lives[id] = {begin[r], kept[index_of(id)] ? count - 1 : end[r]};
    timeline.add(
        begin[r], end[r],
        static_cast<int64_t>(region.technique ? region.technique->scratch_bytes(context, region) : 0));
  }
  for (const auto& [id, life] : lives) timeline.add(life.first, life.second, stored_bytes(graph, plan, id));
  LiveMemory out{timeline.bytes()};
  for (int64_t bytes : out.at) out.peak = std::max(out.peak, bytes);
  return out;
}

Result<void> check_memory(const Context& context, const Plan& plan) {
  if (!context.takes_sizes()) return {};
  auto alone = std::make_shared<Instances>();
  alone->all.push_back(context.instances->largest);
  const Context largest = context.of(alone);
  auto bytes = static_cast<double>(live_memory(largest, plan).peak);
  for (ValueId id : largest.graph.leaves()) bytes += static_cast<double>(largest.graph.type(id).bytes());
  if (bytes <= context.gpu.memory) return {};
  return user_error("sizes",
                    format("with {} a call takes {}, and {} has {}", text(largest.sizes()), bytes_text(bytes),
                           context.gpu.name, bytes_text(context.gpu.memory)),
                    "narrow the ranges to what a call may have");
}

int64_t memory_allowed(const Graph& graph) {
  // PyTorch's cuBLAS has 32 MB on an H200, beside whatever is multiplied.
  constexpr int64_t little = 8 << 20, beside_products = 24 << 20;
  const bool multiplies = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return node.op == Op::matmul || node.op == Op::linear; });
  const std::set<ValueId> constants = constant_values(graph);
  const std::vector<bool> kept = kept_to_the_end(graph);
  std::vector<ValueId> owner(graph.values.size());
  for (size_t i = 0; i < owner.size(); ++i) owner[i] = static_cast<ValueId>(i);
  std::map<ValueId, std::pair<size_t, size_t>> lives;
  const size_t count = graph.nodes.size();
  for (size_t n = 0; n < count; ++n) {
    const Node& node = graph.nodes[n];
    if (info(node.op).family == Family::view)
      owner[index_of(node.results[0])] = owner[index_of(node.operands[0])];
    for (ValueId id : node.results)
      if (owner[index_of(id)] == id && !constants.contains(id)) lives[id] = {n, n};
    for (const auto* side : {&node.operands, &node.results})
      for (ValueId id : *side)
        if (id != ValueId::none)
          if (auto life = lives.find(owner[index_of(id)]); life != lives.end())
            life->second.second = kept[index_of(id)] ? count - 1 : std::max(life->second.second, n);
  }
  Timeline timeline(count);
  for (const auto& [id, life] : lives) timeline.add(life.first, life.second, graph.type(id).bytes());
  int64_t peak = 0;
  for (int64_t bytes : timeline.bytes()) peak = std::max(peak, bytes);
  return peak + (multiplies ? beside_products : little);
}

}  // namespace stitch::plan
