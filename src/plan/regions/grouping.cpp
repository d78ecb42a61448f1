#include "plan/regions/grouping.h"

#include <algorithm>
#include <functional>

#include "plan/plain_plan.h"
#include "plan/technique.h"

namespace stitch::plan {

bool has_product(const Graph& graph, const Region& region) { return kind_of(graph, region) != Kind::loop; }

bool element_wise(const Graph& graph, const Region& region) {
  return std::ranges::all_of(region.nodes, [&](int32_t n) {
    const Op op = graph.node(n).op;
    return info(op).family == Family::pointwise || info(op).family == Family::view || op == Op::full;
  });
}

Grouping::Grouping(const Graph& graph, std::vector<Region> regions)
    : graph_(graph), regions_(std::move(regions)), group_of_(graph.nodes.size()), users_(users(graph)) {
  for (size_t r = 0; r < regions_.size(); ++r)
    for (int32_t n : regions_[r].nodes) group_of_[static_cast<size_t>(n)] = r;
}

std::set<size_t> Grouping::consumers(size_t r) const {
  std::set<size_t> out;
  for (int32_t n : regions_[r].nodes)
    for (ValueId id : graph_.node(n).results)
      for (int32_t user : users_[index_of(id)])
        if (group_of_[static_cast<size_t>(user)] != r) out.insert(group_of_[static_cast<size_t>(user)]);
  return out;
}

bool Grouping::detour(size_t from, size_t into) const {
  std::set<size_t> seen;
  std::vector<size_t> open;
  for (size_t next : consumers(from))
    if (next != into) open.push_back(next);
  while (!open.empty()) {
    size_t at = open.back();
    open.pop_back();
    if (at == into) return true;
    if (!seen.insert(at).second) continue;
    for (size_t next : consumers(at)) open.push_back(next);
  }
  return false;
}

bool Grouping::is_made(ValueId id) const { return !graph_[id].has_data() && graph_[id].role == Role::result; }

int32_t Grouping::last_reader(ValueId id) const {
  const bool handed_out = std::ranges::find(graph_.outputs, id) != graph_.outputs.end() ||
                          std::ranges::find(graph_.updates, id, &Update::value) != graph_.updates.end();
  int32_t last = handed_out ? static_cast<int32_t>(graph_.nodes.size()) : -1;
  for (int32_t user : users_[index_of(id)])
    last = std::max(last, regions_[group_of_[static_cast<size_t>(user)]].nodes.back());
  return last;
}

Region Grouping::merged(size_t a, size_t b) const {
  Region out{.nodes = regions_[a].nodes};
  out.nodes.insert(out.nodes.end(), regions_[b].nodes.begin(), regions_[b].nodes.end());
  complete(graph_, out);
  out.name = region_name(graph_, out.nodes);
  return out;
}

void Grouping::merge(size_t a, size_t b, Region region) {
  for (int32_t n : region.nodes) group_of_[static_cast<size_t>(n)] = a;
  regions_[a] = std::move(region);
  regions_[b] = {};
}

std::vector<Region> Grouping::in_order() {
  std::vector<Region> out;
  std::vector<bool> done(regions_.size());
  std::vector<int32_t> makers = producers(graph_);
  std::function<void(size_t)> visit = [&](size_t r) {
    if (done[r]) return;
    done[r] = true;
    for (ValueId id : regions_[r].reads)
      if (int32_t maker = makers[index_of(id)]; maker >= 0) visit(group_of_[static_cast<size_t>(maker)]);
    out.push_back(std::move(regions_[r]));
  };
  for (size_t n = 0; n < graph_.nodes.size(); ++n) visit(group_of_[n]);
  tell_names_apart(out);
  return out;
}

}  // namespace stitch::plan
