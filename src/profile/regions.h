// Which kernels belong to which region of the program, its source and the model's lines; and what work that
// is.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "profile/collect.h"
#include "profile/rules.h"

namespace stitch::profile {

// Gives each activity the number of its region in the manifest. Where it is known what regions launch, by
// that. Else kernels carry the names of their regions (one that several regions share has the first one's),
// and a library's kernel belongs to the region in whose turn it ran.
void assign_regions(Timeline& timeline, const Manifest& manifest, const RegionKernels& known = {});

// The work of a region: what it reads and writes and the weights it needs, each once, and its arithmetic.
Work work_of(const Graph& graph, const ManifestRegion& region, const GpuSpec& gpu);
// Of the whole graph.
Work work_of(const Graph& graph, const GpuSpec& gpu);

// "resnet18.py:83: x = self.conv1(x)", each line once.
std::vector<std::string> lines_of(const Graph& graph, const ManifestRegion& region);

// What the rules look at: a subject a region that ran, one a kernel that belongs to none. Regions have to be
// assigned. `graph` may be null.
std::vector<Subject> subjects_of(const Timeline& timeline, const Manifest& manifest,
                                 const std::map<std::string, KernelMetrics>& metrics, const Graph* graph,
                                 const GpuSpec& gpu);

}  // namespace stitch::profile
