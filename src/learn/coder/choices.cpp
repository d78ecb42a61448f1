#include "learn/coder/choices.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "learn/draw.h"
#include "plan/cost/estimate.h"
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
  // Values by the order in which the region meets them: names are the model's.
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

}  // namespace stitch::learn
