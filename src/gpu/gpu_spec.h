// A GPU's properties: all that a decision may depend on. From gpus.json (embedded), or from the driver
// (gpu_detect.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/architecture.h"
#include "gpu/calibration.h"

namespace stitch {

// SI units: bytes, bytes per second, operations per second, seconds.
struct GpuSpec {
  std::string name;
  std::vector<std::string> aliases;
  std::string compute_capability;  // "9.0"
  Architecture architecture;       // by compute capability

  int sms = 0;
  int64_t shared_per_block = 0;  // at most, opt-in
  int64_t shared_per_sm = 0;
  int registers_per_sm = 0;
  int threads_per_sm = 0;
  double memory = 0;
  double l2 = 0;

  // From the data sheet.
  double data_sheet_bandwidth = 0;
  double data_sheet_fp16 = 0;
  // Measured where available, else from the data sheet. Tensor rates are dense, fp32 accumulation.
  double bandwidth = 0;    // of a copy
  double tensor_fp16 = 0;  // of a large square product
  double tensor_tf32 = 0;
  double tensor_fp8 = 0;  // 0: none
  double fp32 = 0;        // without tensor cores
  double fp64 = 0;

  // Measured library rates; for other GPUs the H200's share of its data sheet.
  double fp32_products = 0;       // cuBLASLt without tensor cores
  double tf32_products = 0;       // cuBLASLt
  double fp16_long_products = 0;  // cuBLASLt, sums over thousands
  double fp16_convolutions = 0;   // cuDNN
  double tf32_convolutions = 0;   // cuDNN

  double launch_overhead = 0;  // of a CUDA graph
  double kernel_overhead = 0;  // of each kernel inside a CUDA graph

  // Measured calibration of techniques; null: none.
  std::shared_ptr<const Calibration> calibration;

  enum class Source : uint8_t { data_sheet, measured, driver };
  Source source = Source::data_sheet;
  bool measured() const { return source == Source::measured; }

  // Blocks of this many threads and bytes of shared memory that fit on a multiprocessor, registers aside.
  int blocks_per_sm(int threads, int64_t shared_bytes) const;
};

std::string_view name(GpuSpec::Source source);  // "data sheet", "measured", "driver"

std::span<const GpuSpec> all_gpus();

// By name or alias; case, spaces, punctuation and a leading "NVIDIA" don't matter.
Result<GpuSpec> find_gpu(std::string_view name);

// Sets the architecture's limits and the library rates.
void apply_architecture(GpuSpec& gpu);
void estimate_library_rates(GpuSpec& gpu);

}  // namespace stitch
