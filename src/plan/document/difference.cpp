#include "plan/document/difference.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace stitch::plan {

namespace {

// Nodes that have to change together.
class Together {
 public:
  explicit Together(size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), 0); }
  int32_t of(int32_t node) {
    while (parent_[static_cast<size_t>(node)] != node) node = parent_[static_cast<size_t>(node)];
    return node;
  }
  void join(const std::vector<int32_t>& nodes) {
    for (int32_t node : nodes) parent_[static_cast<size_t>(of(node))] = of(nodes.front());
  }

 private:
  std::vector<int32_t> parent_;
};

bool is_same(const Region& a, const Region& b) {
  return a.nodes == b.nodes && a.technique == b.technique && a.offer == b.offer && a.choices == b.choices &&
         a.variants == b.variants && a.has_same_source(b) && a.section == b.section && a.branch == b.branch;
}

bool is_in(const Plan& plan, const Region& region) {
  return std::ranges::any_of(plan.regions, [&](const Region& each) { return is_same(each, region); });
}

}  // namespace

Result<std::vector<Region>> in_running_order(const Graph& graph, std::vector<Region> regions) {
  std::map<ValueId, size_t> writer;
  for (size_t r = 0; r < regions.size(); ++r)
    for (ValueId id : regions[r].writes) writer[id] = r;
  std::vector<Region> out;
  std::vector<int> state(regions.size());  // 1: being visited, 2: done
  std::function<bool(size_t)> visit = [&](size_t r) {
    if (state[r] == 2) return true;
    if (state[r] == 1) return false;
    state[r] = 1;
    for (ValueId id : regions[r].reads)
      if (auto found = writer.find(id); found != writer.end() && !visit(found->second)) return false;
    state[r] = 2;
    out.push_back(regions[r]);
    return true;
  };
  for (size_t r = 0; r < regions.size(); ++r)
    if (!visit(r))
      return at("plan: region '" + regions[r].name + "'",
                user_error("plan", format("depends on itself in '{}'", graph.name),
                           "take or drop it together with its neighbours"));
  return out;
}

std::vector<Change> difference(const Graph& graph, const Plan& before, const Plan& after) {
  Together together(graph.nodes.size());
  std::set<int32_t> changed;
  auto add = [&](const std::vector<int32_t>& nodes) {
    together.join(nodes);
    changed.insert(nodes.begin(), nodes.end());
  };
  for (const Region& region : before.regions)
    if (!is_in(after, region)) add(region.nodes);
  for (const Region& region : after.regions)
    if (!is_in(before, region)) add(region.nodes);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (before.storage[v] == after.storage[v]) continue;
    std::vector<int32_t> nodes;  // of all regions affected
    for (const Plan* plan : {&before, &after})
      for (const Region& region : plan->regions)
        if (const std::vector<ValueId> known = reads_and_writes(region);
            std::ranges::find(known, static_cast<ValueId>(v)) != known.end())
          nodes.insert(nodes.end(), region.nodes.begin(), region.nodes.end());
    if (!nodes.empty()) add(nodes);
  }
  std::map<int32_t, Change> changes;  // by the node that stands for all of theirs
  for (int32_t node : changed) changes[together.of(node)].nodes.insert(node);
  for (auto [plan, names] : {std::pair{&before, &Change::before}, std::pair{&after, &Change::after}})
    for (const Region& region : plan->regions)
      if (changed.contains(region.nodes.front()))
        (changes.at(together.of(region.nodes.front())).*names).push_back(region.name);
  std::vector<Change> out;
  for (auto& [node, change] : changes) out.push_back(std::move(change));
  std::ranges::sort(out, {}, [](const Change& change) { return *change.nodes.begin(); });
  return out;
}

Result<Plan> take_changes(const Graph& graph, const Plan& before, const Plan& after,
                          const std::vector<Change>& taken) {
  std::set<int32_t> nodes;
  for (const Change& change : taken) nodes.insert(change.nodes.begin(), change.nodes.end());
  const std::vector<Change> all = difference(graph, before, after);
  if (taken.size() == all.size()) return after;
  Plan out = before;
  out.regions.clear();
  auto is_taken = [&](const Region& region) { return nodes.contains(region.nodes.front()); };
  for (const Region& region : before.regions)
    if (!is_taken(region)) out.regions.push_back(region);
  for (const Region& region : after.regions)
    if (is_taken(region)) {
      out.regions.push_back(region);
      for (ValueId id : region.writes) out.storage[index_of(id)] = after.storage[index_of(id)];
    }
  for (Region& region : out.regions) region.section = region.branch = 0;
  std::ranges::stable_sort(out.regions, {}, [](const Region& region) { return region.nodes.front(); });
  STITCH_TRY(out.regions, in_running_order(graph, std::move(out.regions)));
  STITCH_CHECK(check(graph, out));
  return out;
}

}  // namespace stitch::plan
