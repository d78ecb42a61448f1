// The GPU that estimates are for.
#pragma once

#include <string>

#include "device/gpu_spec.h"

namespace stitch {

// By name; without one, this machine's, or else an H200.
Result<GpuSpec> choose_gpu(const std::string& name);

}  // namespace stitch
