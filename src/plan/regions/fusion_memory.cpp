#include "plan/regions/fusion_memory.h"

#include <algorithm>
#include <set>

#include "plan/constants.h"
#include "plan/cost/live_memory.h"

namespace stitch::plan {

namespace {

// Would delaying `earlier` until `later` keep more bytes alive than its results take? A sum of many products
// keeps all of them alive if it is computed at the end, and two if it is accumulated.
bool extends_lifetimes(const Graph& graph, const Grouping& groups, const std::set<ValueId>& constants,
                       size_t earlier, size_t later) {
  const int32_t from = groups[earlier].nodes.back(), to = groups[later].nodes.back();
  bool between = false;
  for (size_t r = 0; r < groups.size() && !between; ++r)
    between = r != earlier && r != later && groups.alive(r) && groups[r].nodes.back() > from &&
              groups[r].nodes.back() < to;
  if (!between) return false;
  auto bytes = [&](ValueId id) { return graph.type(id).bytes(); };
  int64_t held = 0, saved = 0;
  for (ValueId id : groups[earlier].writes) saved += bytes(id);
  for (ValueId id : groups[earlier].reads)
    if (!constants.contains(id) && groups.is_made(id) && groups.last_reader(id) < to) held += bytes(id);
  return held > saved;
}

}  // namespace

Result<Plan> fuse_within_memory(const Context& context, const Plan& plan,
                                const std::function<Result<Plan>(const MayDelay&)>& fuse) {
  STITCH_TRY(Plan unrestricted, fuse([](const Grouping&, size_t, size_t) { return true; }));
  const int64_t live = live_memory(context, unrestricted).peak;
  if (!context.lean && live <= std::max(memory_allowed(context.graph), live_memory(context, plan).peak))
    return unrestricted;
  const std::set<ValueId> constants = constant_values(context.graph);
  STITCH_TRY(Plan restricted, fuse([&](const Grouping& groups, size_t earlier, size_t later) {
               return !extends_lifetimes(context.graph, groups, constants, earlier, later);
             }));
  return live_memory(context, restricted).peak < live ? restricted : unrestricted;
}

}  // namespace stitch::plan
