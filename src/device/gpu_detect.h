// Which GPUs are in this machine, asked of the driver itself (loaded at run time: nothing links to it).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace stitch {

struct DetectedGpu {
  std::string name;                // as the driver calls it: "NVIDIA H200"
  std::string compute_capability;  // "9.0"
  int sms = 0;
  int64_t memory_bytes = 0;
};

struct Driver {
  std::string version;       // of the kernel module: "580.95.05"; may be empty
  std::string cuda_version;  // the newest CUDA it can run: "13.0"
  std::vector<DetectedGpu> gpus;
};

// An error says why there is none: no driver, no device, a driver that refuses.
Result<Driver> detect_gpus();

}  // namespace stitch
