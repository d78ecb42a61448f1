// What the GPUs we know can do, from gpus.json (embedded into the program).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stitch {

// Everything in plain units: bytes, bytes per second, operations per second, seconds.
struct GpuSpec {
  std::string name;
  std::vector<std::string> aliases;
  std::string compute_capability;
  int sms = 0;
  double memory = 0;
  double l2 = 0;
  double data_sheet_bandwidth = 0;
  double bandwidth = 0;    // measured where somebody measured it, else the data sheet's
  double tensor_fp16 = 0;  // likewise; dense, fp32 accumulation
  double tensor_tf32 = 0;
  double fp32 = 0;  // without tensor cores
  double fp64 = 0;
  double launch_overhead = 0;
  bool measured = false;
};

std::span<const GpuSpec> all_gpus();

// By name or alias; case, spaces, punctuation and a leading "NVIDIA" don't matter.
Result<GpuSpec> find_gpu(std::string_view name);

}  // namespace stitch
