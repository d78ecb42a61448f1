// A task as the built-in Planner plans it, and the regions of the plan that something can be chosen for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/coder/choices.h"

namespace stitch::learn {

struct PlannedTask {
  std::string name;
  std::string set;  // of tasks to compare on, never to train on; empty: any other task
  Graph graph;
  GpuSpec gpu;
  std::unique_ptr<plan::Context> context;  // of the two above
  plan::Plan plan;
};
Result<std::shared_ptr<const PlannedTask>> plan_task(std::string name, Graph graph, const GpuSpec& gpu,
                                                     Numerics numerics, std::string set = {});

struct RegionProblem {
  std::shared_ptr<const PlannedTask> task;
  size_t region = 0;
  std::string key;  // of the region with its types, layouts and class: equal problems have equal keys

  const plan::Context& context() const { return *task->context; }
  const plan::Plan& plan() const { return task->plan; }
  const plan::Region& now() const { return task->plan.regions[region]; }
};
// Regions of which a call has some, with more than one option, each kind of region once. `least_share`: of
// the plan's estimated time.
std::vector<RegionProblem> problems_of(const std::shared_ptr<const PlannedTask>& task,
                                       double least_share = 0.005);

}  // namespace stitch::learn
