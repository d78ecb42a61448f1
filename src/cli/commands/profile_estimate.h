// Times of a profile where there is no GPU: the plan's own for the program, the cost model's for PyTorch.
#pragma once

#include "plan/cost/pytorch.h"
#include "plan/document/document.h"
#include "profile/regions.h"

namespace stitch {

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
