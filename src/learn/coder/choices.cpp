#include "learn/coder/choices.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "learn/draw.h"
#include "plan/cost/estimate.h"
#include "plan/document/document.h"
#include "plan/steps.h"

namespace stitch::learn {

std::string choice_text(const plan::Region& region) {
  std::string out = format("{} {} {}", region.technique->name(), plan::name(region.offer.arithmetic),
                           plan::name(region.offer.order));
  for (const auto& [knob, value] : region.choices) out += format(" {}={}", knob, value);
  return out;
}

std::optional<plan::Region> read_choice(const plan::Context& context, const plan::Plan& plan,
                                        const plan::Region& region, const plan::Catalogue& catalogue,
                                        const std::string& text) {
  const std::vector<std::string> words = split(text, ' ');
  constexpr size_t way_words = 3;
  if (text == choice_text(region)) return region;
  for (const plan::Way& way : plan::ways_of(context, plan, region, catalogue)) {
    plan::Region out = plan::with_way(context, region, way);
    for (const plan::Knob& knob : plan::open_knobs(context, out)) out.choices.erase(knob.name);
    for (size_t i = way_words; i < words.size(); ++i) {
      const size_t sign = words[i].find('=');
      int64_t value = 0;
      const char *begin = words[i].data() + sign + 1, *end = words[i].data() + words[i].size();
      if (sign == std::string::npos || std::from_chars(begin, end, value).ptr != end) return std::nullopt;
      const std::string name = words[i].substr(0, sign);
      // Those that aren't open stand there already.
      for (const plan::Knob& knob : plan::open_knobs(context, out))
        if (knob.name == name && std::ranges::find(knob.values, value) != knob.values.end())
          out.choices[name] = value;
    }
    if (choice_text(out) == text) return out;
  }
  return std::nullopt;
}

namespace {

// The way with every open knob at the technique's own.
plan::Region as_it_is(const RegionProblem& problem, const plan::Way& way) {
  plan::Region out = with_way(problem.context(), problem.now(), way);
  for (const plan::Knob& knob : open_knobs(problem.context(), out)) out.choices.erase(knob.name);
  return out;
}

// Every knob by chance, its own among the values; which knobs there are may depend on those before.
plan::Region drawn_choice(const RegionProblem& problem, const std::vector<plan::Way>& ways, Draw& draw) {
  plan::Region out = as_it_is(problem, ways[static_cast<size_t>(draw.below(std::ssize(ways)))]);
  for (size_t i = 0;; ++i) {
    const std::vector<plan::Knob> knobs = open_knobs(problem.context(), out);
    if (i >= knobs.size()) return out;
    const int64_t value = draw.below(std::ssize(knobs[i].values) + 1);
    if (value > 0) out.choices[knobs[i].name] = knobs[i].values[static_cast<size_t>(value - 1)];
  }
}

// Each value of each open knob, the others as they are.
std::vector<plan::Region> with_one_knob(const RegionProblem& problem, const plan::Region& own) {
  std::vector<plan::Region> out;
  for (const plan::Knob& knob : open_knobs(problem.context(), own))
    for (int64_t value : knob.values) {
      out.push_back(own);
      out.back().choices[knob.name] = value;
    }
  return out;
}

std::vector<plan::Region> shuffled(std::vector<plan::Region> all, Draw& draw) {
  for (size_t i = all.size(); i > 1; --i)
    std::swap(all[i - 1], all[static_cast<size_t>(draw.below(static_cast<int64_t>(i)))]);
  return all;
}

}  // namespace

std::vector<plan::Region> candidate_choices(const RegionProblem& problem, size_t most, uint64_t seed) {
  std::vector<plan::Region> out;
  std::set<std::string> known;
  auto take = [&](const plan::Region& region, size_t until) {
    if (out.size() < until && known.insert(choice_text(region)).second) out.push_back(region);
  };
  take(problem.now(), most);
  const std::vector<plan::Way> ways =
      ways_of(problem.context(), problem.plan(), problem.now(), code::catalogue());
  if (ways.empty()) return out;
  std::vector<plan::Region> plain;
  for (const plan::Way& way : ways) plain.push_back(as_it_is(problem, way));
  std::ranges::stable_sort(plain, {}, [&](const plan::Region& each) {
    return plan::estimate(problem.context(), problem.plan(), each).seconds();
  });
  for (const plan::Region& each : plain) take(each, (most + 1) / 2);
  // Where the built-in choice can be beaten, it mostly is by its own technique with another value of a knob
  // (H200, 168 regions): those first, then knobs of the other ways, likeliest first.
  Draw draw(seed, stable_hash(problem.key));
  auto take_knobs_of = [&](const plan::Region& own, size_t until) {
    for (const plan::Region& each : shuffled(with_one_knob(problem, own), draw)) take(each, until);
  };
  take_knobs_of(problem.now(), most * 3 / 4);
  for (const plan::Region& each : plain) take_knobs_of(each, most * 3 / 4);
  for (size_t tries = 0; out.size() < most && tries < 4 * most; ++tries)
    take(drawn_choice(problem, ways, draw), most);
  return out;
}

namespace {

std::string key_of(const PlannedTask& task, const plan::Region& region) {
  const Graph& graph = task.graph;
  Sha256 sum;
  sum.add_field(task.gpu.name);
  sum.add_field(name(task.plan.numerics));
  // Values are numbered as the region uses them first: names are the model's.
  std::vector<ValueId> met;
  auto value = [&](ValueId id) -> std::string {
    if (id == ValueId::none) return "none";
    auto found = std::ranges::find(met, id);
    const bool fresh = found == met.end();
    const auto number = found - met.begin();
    if (!fresh) return format("#{}", number);
    met.push_back(id);
    const plan::Storage& storage = task.plan.storage[index_of(id)];
    return format("{} {} [{}]{}", text(graph.type(id)), name(storage.dtype), join(storage.order, ","),
                  graph[id].has_data() ? " weight" : "");
  };
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    sum.add_field(info(node.op).name);
    for (ValueId id : node.operands) sum.add_field(value(id));
    for (const auto& [key, attribute] : node.attributes) sum.add_field(key + "=" + text(attribute));
    for (ValueId id : node.results) sum.add_field(value(id));
  }
  for (ValueId id : region.writes) sum.add_field(value(id));
  // What may be chosen depends on how coarse the plan has it.
  sum.add_field(plan::name(region.offer.arithmetic));
  return sum.hex().substr(0, 16);
}

}  // namespace

Result<std::shared_ptr<const PlannedTask>> plan_task(std::string name, Graph graph, const GpuSpec& gpu,
                                                     Numerics numerics, std::string set) {
  auto out = std::make_shared<PlannedTask>();
  out->name = std::move(name);
  out->set = std::move(set);
  out->graph = std::move(graph);
  out->gpu = gpu;
  out->context = std::make_unique<plan::Context>(out->graph, out->gpu, numerics);
  STITCH_TRY(out->plan, plan::make_plan(*out->context, code::catalogue()));
  return std::shared_ptr<const PlannedTask>(std::move(out));
}

std::vector<RegionProblem> problems_of(const std::shared_ptr<const PlannedTask>& task, double least_share) {
  std::vector<RegionProblem> out;
  std::set<std::string> known;
  const std::vector<bool> constant = plan::constant_regions(task->graph, task->plan);
  const double least = least_share * plan::estimate(*task->context, task->plan);
  for (size_t r = 0; r < task->plan.regions.size(); ++r) {
    const plan::Region& region = task->plan.regions[r];
    if (constant[r] || region.source) continue;
    if (plan::estimate(*task->context, task->plan, region).seconds() < least) continue;
    const std::vector<plan::Way> ways = ways_of(*task->context, task->plan, region, code::catalogue());
    if (ways.size() < 2 && open_knobs(*task->context, region).empty()) continue;
    std::string key = key_of(*task, region);
    if (known.insert(key).second) out.push_back({task, r, std::move(key)});
  }
  return out;
}

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
