// stitchcuda profile: what one call of PyTorch and of a program does on the device, and what limits it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/terminal/terminal.h"
#include "cli/console.h"
#include "import/task.h"
#include "plan/cost/pytorch.h"
#include "plan/document/document.h"
#include "profile/regions.h"

namespace stitch {

struct ProfileCommand {
  std::string target;   // a program folder, a .cu file, or a model's .py file
  std::string task;     // of a program: its model
  std::string program;  // of a model: its program
  std::string device = "auto";
  std::string gpu;
  std::string baseline = "eager";  // of PyTorch; none: only the program
  std::string numerics = "default";
  std::string html, trace, nsys;
  bool counters = false;
  std::string counters_by = "any";
  bool force = false;
  TaskOptions task_options;
};

Result<int> run_profile(const ProfileCommand& command, Console& console);

// What `profile` found, as the one document that the table, the page and --json are made from.
struct ProfileRun {
  std::string model, program;  // as the user wrote them; may be empty
  std::string device;          // cuda, emulated
  GpuSpec gpu;
  std::string baseline;  // of PyTorch
  std::optional<profile::Timeline> pytorch;
  plan::PyTorchEstimate pytorch_estimate;       // where it was not measured
  double program_seconds = 0;                   // a call, estimated; 0: measured, or not known
  std::optional<profile::Collected> collected;  // of the program
  const Graph* graph = nullptr;
  std::vector<std::string> notes;
};

Json profile_json(const ProfileRun& run);

// For people: both sides, their kernels or regions, what limits them.
std::string profile_text(const Json& document, const Terminal& terminal);

// Times of a profile where there is no GPU: the plan's own for the program, the cost model's for PyTorch.

// For a program without a plan: its regions' work at what good kernels reach, with the launches they made.
plan::PlannedCall estimated_call(const profile::Timeline& timeline, const Manifest& manifest,
                                 const Graph& graph, const GpuSpec& gpu);
// On the emulated GPU: each region's launches share the time that the plan expects of it. The plan has the
// manifest's regions, in its order.
void estimate_times(profile::Timeline& timeline, const plan::PlannedCall& planned);

// PyTorch's call where it can't be measured.
profile::Timeline estimated_timeline(const plan::PyTorchEstimate& estimate, const Graph& graph,
                                     const GpuSpec& gpu, bool in_a_graph);

}  // namespace stitch
