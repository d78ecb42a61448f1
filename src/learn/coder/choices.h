// How a choice for a region (plan/ways.h) is written down and read.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/ways.h"
#include "program/package.h"

namespace stitch::learn {

// "conv.cudnn half channels_last algorithm=2 search=1": how a choice is written down.
std::string choice_text(const plan::Region& region);
// The region implemented as such a text has it; nothing: no way of it is called so, or a knob has no such
// value.
std::optional<plan::Region> read_choice(const plan::Context& context, const plan::Plan& plan,
                                        const plan::Region& region, const plan::Catalogue& catalogue,
                                        const std::string& text);

// A task as the built-in Planner plans it, and the regions of the plan that something can be chosen for.
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

// The choices of a region that are worth measuring, best first.

// The built-in one first, ways as they are by their estimates, then single knobs, those of the built-in way
// first, then any, drawn from the seed; no two alike.
std::vector<plan::Region> candidate_choices(const RegionProblem& problem, size_t most, uint64_t seed = 1);

// A region alone, in several implementations side by side: a small graph that computes it once for each of
// them, so that one program, built once, tells what all of them take.

struct Alone {
  std::shared_ptr<const PlannedTask> task;  // of the small graph
  std::vector<size_t> regions;              // of its plan: a variant each
};
// Values that the region reads or writes in another type or order than the graph has are converted before and
// behind it, by regions of their own. Errors name the variant that can't be had.
Result<Alone> region_alone(const RegionProblem& problem, std::span<const plan::Region> variants);

}  // namespace stitch::learn
