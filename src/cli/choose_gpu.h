// The GPU that estimates are for.
#pragma once

#include <string>

#include "base/file.h"
#include "gpu/gpu_spec.h"

namespace stitch {

// By name; without one, this machine's, or else an H200.
Result<GpuSpec> choose_gpu(const std::string& name);

// Where the user's own calibration of a GPU lies, if there is one: it counts before the one that is built in.
fs::path calibration_file(const std::string& gpu);

}  // namespace stitch
