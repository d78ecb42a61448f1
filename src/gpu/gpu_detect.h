// The GPUs of this machine, from the driver (loaded at run time).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "gpu/gpu_spec.h"

namespace stitch {

struct DetectedGpu {
  std::string name;                // the driver's name: "NVIDIA H200"
  std::string compute_capability;  // "9.0"
  int sms = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t shared_per_block = 0, shared_per_sm = 0;  // bytes; a block's is the opt-in maximum
  int registers_per_sm = 0, threads_per_sm = 0;
  double clock = 0;         // Hz, boost; 0: unknown
  double memory_clock = 0;  // Hz
  int memory_bus_bits = 0;
};

struct Driver {
  std::string version;       // of the kernel module: "580.95.05"; may be empty
  std::string cuda_version;  // newest supported CUDA: "13.0"
  std::vector<DetectedGpu> gpus;
};

// An error says why there is none: no driver, no device, a driver error.
Result<Driver> detect_gpus(const char* driver_library = "libcuda.so.1");

// From our table, or from the driver's data if it isn't there.
GpuSpec spec_of(const DetectedGpu& gpu);

// By name; without one, this machine's, or else an H200. With the user's own calibration, where there is one.
Result<GpuSpec> choose_gpu(const std::string& name);
// Where that lies: it counts before the one that is built in.
fs::path calibration_file(const std::string& gpu);

}  // namespace stitch
