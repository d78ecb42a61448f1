#include "learn/coder/alone.h"

#include <algorithm>
#include <map>

#include "code/catalogue.h"
#include "plan/document/document.h"

namespace stitch::learn {

namespace {

class Builder {
 public:
  Builder(const RegionProblem& problem, PlannedTask& out)
      : from_(problem), graph_(problem.context().graph), region_(problem.now()), out_(out) {}

  Result<void> add_leaves() {
    const std::vector<int32_t> makers = producers(graph_);
    const std::vector<bool> constant = plan::constant_regions(graph_, from_.plan());
    std::vector<bool> once(graph_.values.size());
    for (size_t r = 0; r < constant.size(); ++r)
      for (ValueId id : from_.plan().regions[r].writes) once[index_of(id)] = constant[r];
    for (int32_t n : region_.nodes)
      for (ValueId id : graph_.node(n).operands) {
        if (id == ValueId::none || known_.contains(id) || is_inside(makers[index_of(id)])) continue;
        STITCH_CHECK(add_leaf(id, once[index_of(id)]));
      }
    return {};
  }

  // The region's nodes once more; what they make.
  Result<std::map<ValueId, ValueId>> add_copy(const std::string& suffix) {
    std::map<ValueId, ValueId> made = known_;
    for (int32_t n : region_.nodes) {
      const Node& node = graph_.node(n);
      std::vector<ValueId> operands;
      for (ValueId id : node.operands) operands.push_back(id == ValueId::none ? id : made.at(id));
      STITCH_TRY(const std::vector<ValueId> results,
                 out_.graph.add_node(node.op, std::move(operands), node.attributes,
                                     graph_[node.results[0]].name + suffix, node.where, node.module));
      for (size_t i = 0; i < results.size(); ++i) made[node.results[i]] = results[i];
    }
    return made;
  }

  // A value as the graph has it becomes one as the plan stores it, or the other way round.
  Result<ValueId> converted(ValueId id) {
    STITCH_TRY(const std::vector<ValueId> results, out_.graph.add_node(Op::neg, {id}));
    return results[0];
  }

  plan::Storage storage_of(ValueId id) const { return from_.plan().storage[index_of(id)]; }
  bool is_plain(ValueId id) const {
    const plan::Storage storage = storage_of(id);
    return storage.order.empty() && storage.dtype == graph_.type(id).dtype;
  }

  std::vector<std::pair<ValueId, plan::Storage>> stored;  // in the new graph
  std::map<ValueId, ValueId> known_;                      // values from outside, by the old graph's

 private:
  bool is_inside(int32_t node) const {
    return node >= 0 && std::ranges::find(region_.nodes, node) != region_.nodes.end();
  }

  Result<void> add_leaf(ValueId id, bool once) {
    const Value& value = graph_[id];
    const TensorType type{value.type.dtype, value.type.shape, {}};
    const bool weight = value.has_data() || once;
    const Role role = value.role == Role::seed ? Role::seed : weight ? Role::parameter : Role::input;
    // Names of leaves are keys, too.
    const std::string name = format("in_{}", known_.size());
    ValueId leaf = out_.graph.add_leaf(role, name, type, weight ? name : std::string());
    if (!weight && role == Role::input && !is_plain(id)) {
      STITCH_TRY(leaf, converted(leaf));
      stored.emplace_back(leaf, storage_of(id));
    }
    known_[id] = leaf;
    return {};
  }

  const RegionProblem& from_;
  const Graph& graph_;
  const plan::Region& region_;
  PlannedTask& out_;
};

Result<plan::Region> plain_region(const plan::Context& context, int32_t node, const std::string& name) {
  plan::Region out{.name = name};
  out.nodes = {node};
  plan::complete(context.graph, out);
  STITCH_TRY(out.technique, code::catalogue().plain(context, out));
  return out;
}

}  // namespace

Result<Alone> region_alone(const RegionProblem& problem, std::span<const plan::Region> variants) {
  auto task = std::make_shared<PlannedTask>();
  task->name = task->graph.name = problem.now().name;
  task->gpu = problem.context().gpu;
  Builder builder(problem, *task);
  STITCH_CHECK(builder.add_leaves());
  const size_t prelude = task->graph.nodes.size();
  struct Span {
    size_t first, end;
  };
  std::vector<Span> spans;
  std::map<ValueId, plan::Storage> written;
  for (size_t v = 0; v < variants.size(); ++v) {
    const size_t first = task->graph.nodes.size();
    STITCH_TRY(auto made, builder.add_copy(format("_{}", v)));
    spans.push_back({first, task->graph.nodes.size()});
    for (ValueId id : problem.now().writes) {
      builder.stored.emplace_back(made.at(id), builder.storage_of(id));
      written[made.at(id)] = builder.storage_of(id);
    }
  }
  const size_t body = task->graph.nodes.size();
  for (const auto& [id, storage] : written) {
    const bool plain = storage.order.empty() && storage.dtype == task->graph.type(id).dtype;
    ValueId output = id;
    if (!plain) {
      STITCH_TRY(output, builder.converted(id));
    }
    task->graph.outputs.push_back(output);
  }
  STITCH_CHECK(verify(task->graph));
  // What PyTorch does there is what it does in the model.
  plan::ReferenceFacts facts;
  for (const Span& span : spans)
    for (size_t n = span.first; n < span.end; ++n)
      if (plan::is_convolution(task->graph.nodes[n].op))
        facts.tf32[static_cast<int32_t>(n)] =
            problem.context().rounding.may_lose_bits(problem.now().nodes[n - span.first]);
  task->context =
      std::make_unique<plan::Context>(task->graph, task->gpu, problem.context().numerics, std::move(facts));
  task->plan = plan::empty_plan(task->graph, problem.plan().numerics);
  for (const auto& [id, storage] : builder.stored) task->plan.storage[index_of(id)] = storage;
  Alone out{.task = nullptr, .regions = {}};
  for (size_t n = 0; n < prelude; ++n) {
    STITCH_TRY(plan::Region region,
               plain_region(*task->context, static_cast<int32_t>(n), format("convert_in_{}", n)));
    task->plan.regions.push_back(std::move(region));
  }
  for (size_t v = 0; v < variants.size(); ++v) {
    plan::Region region = variants[v];
    region.name = format("variant_{}", v);
    region.section = region.branch = 0;
    region.nodes.clear();
    for (size_t n = spans[v].first; n < spans[v].end; ++n) region.nodes.push_back(static_cast<int32_t>(n));
    plan::complete(task->graph, region);
    out.regions.push_back(task->plan.regions.size());
    task->plan.regions.push_back(std::move(region));
  }
  for (size_t n = body; n < task->graph.nodes.size(); ++n) {
    STITCH_TRY(plan::Region region,
               plain_region(*task->context, static_cast<int32_t>(n), format("convert_out_{}", n)));
    task->plan.regions.push_back(std::move(region));
  }
  STITCH_CHECK(plan::check_whole(*task->context, task->plan));
  out.task = std::move(task);
  return out;
}

}  // namespace stitch::learn
