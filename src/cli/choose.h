// What flags leave to the machine: where programs run, which GPU estimates are for, what is timed beside
// them.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "gpu/gpu_spec.h"
#include "runner/candidate.h"

namespace stitch {

// cuda, emulated, or auto: the GPU if there is one.
Result<runner::Device> choose_device(const std::string& name);

// By name; without one, this machine's, or else an H200.
Result<GpuSpec> choose_gpu(const std::string& name);

// Where the user's own calibration of a GPU lies, if there is one: it counts before the one that is built in.
fs::path calibration_file(const std::string& gpu);

// eager, eager-graph, compile, compile-graph by name: all, none, or a list.
Result<std::vector<std::string>> baselines_named(const std::string& names);

}  // namespace stitch
