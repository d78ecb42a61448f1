// Which GPUs are in this machine, asked of the driver itself (loaded at run time: nothing links to it).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/gpu_spec.h"

namespace stitch {

struct DetectedGpu {
  std::string name;                // as the driver calls it: "NVIDIA H200"
  std::string compute_capability;  // "9.0"
  int sms = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t shared_per_block = 0, shared_per_sm = 0;  // bytes; a block's is the opt-in maximum
  int registers_per_sm = 0, threads_per_sm = 0;
  double clock = 0;         // Hz, boost; 0 where the driver doesn't tell
  double memory_clock = 0;  // Hz
  int memory_bus_bits = 0;
};

struct Driver {
  std::string version;       // of the kernel module: "580.95.05"; may be empty
  std::string cuda_version;  // the newest CUDA it can run: "13.0"
  std::vector<DetectedGpu> gpus;
};

// An error says why there is none: no driver, no device, a driver that refuses.
Result<Driver> detect_gpus(const char* driver_library = "libcuda.so.1");

// Our table's entry for it; a GPU that is not in it is described by what the driver says.
GpuSpec spec_of(const DetectedGpu& gpu);

}  // namespace stitch
