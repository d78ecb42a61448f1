// The to-do list: from the plain plan to the best one, a step at a time.
#pragma once

#include <functional>
#include <map>
#include <span>

#include "device/gpu_spec.h"
#include "plan/fusion.h"

namespace stitch::plan {

struct StepRule {
  std::string_view name;
  std::string_view why;
  Result<Plan> (*apply)(const Graph& graph, Plan plan, const Techniques& techniques);
  // Values lose bits that a class may forgive: only a whole verification tells whether they may.
  bool rounds = false;
  // Within the class, but not to the last bits: the first suspect after those that round.
  bool approximates = false;
};
// In the order in which they are taken.
std::span<const StepRule> all_steps();

// Regions that a step made or changed: nodes, technique, settings, or how what they read and write lies.
std::vector<std::string> changed_regions(const Plan& before, const Plan& after);

// The plain plan, knowing the GPU, and which convolutions PyTorch was seen to do in TF32: where every list of
// steps begins.
Result<Plan> first_plan(const Graph& graph, const std::string& numerics, const Techniques& techniques,
                        const GpuSpec& gpu, std::map<int32_t, bool> tf32 = {});
// The plan after every wanted step that changes something, each recorded with its prediction.
Result<Plan> plan_of_steps(const Graph& graph, const std::string& numerics, const Techniques& techniques,
                           const GpuSpec& gpu, const std::function<bool(const StepRule&)>& wanted,
                           std::map<int32_t, bool> tf32 = {});
// The wanted steps, less those that are predicted to lose: no slower, by the estimate, than the plan of every
// wanted step and than make_plan's rule on them.
struct BestSteps {
  Plan plan;
  std::vector<Step> left_out;  // each with its prediction
  double seconds = 0;          // the plan's estimate
};
Result<BestSteps> best_plan_of_steps(const Graph& graph, const std::string& numerics,
                                     const Techniques& techniques, const GpuSpec& gpu,
                                     const std::function<bool(const StepRule&)>& wanted,
                                     std::map<int32_t, bool> tf32 = {});
// The plan after every step that is predicted to gain.
Result<Plan> make_plan(const Graph& graph, const std::string& numerics, const Techniques& techniques,
                       const GpuSpec& gpu);

}  // namespace stitch::plan
