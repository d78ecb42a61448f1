// A compute capability: nvcc's name for it, its limits and instructions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch {

struct Architecture {
  int capability = 0;  // 90 is compute capability 9.0
  std::string name;    // nvcc's name: "sm_90a"

  int64_t shared_per_block = 0;  // bytes, opt-in maximum
  int64_t shared_per_sm = 0;     // bytes
  int threads_per_sm = 0;
  int registers_per_sm = 0;

  // Multiply-adds per clock and multiprocessor, for GPUs that only the driver describes.
  int fp32_lanes = 0;
  int fp64_lanes = 0;
  int tensor_fp16_lanes = 0;  // dense, fp32 accumulation; half of it on GeForce

  // Instructions.
  bool mma_fp8() const { return capability >= 89; }                       // m16n8k32
  bool clusters() const { return capability >= 90; }                      // and distributed shared memory
  bool programmatic_launches() const { return capability >= 90; }         // griddepcontrol
  bool wgmma() const { return capability == 90; }                         // as sm_90a
  bool tcgen05() const { return capability >= 100 && capability < 120; }  // as sm_100a
};

// Architectures that programs are compiled for and tested on: 80, 86, 89, 90a, 100, 103, 120.
std::span<const Architecture> supported_architectures();

// An unknown capability gets the data of the nearest one below, under its own name.
Architecture architecture_of(int capability);

// "9.0" is 90.
Result<int> parse_compute_capability(std::string_view text);
// "sm_90a" and "sm_90" are 90.
Result<int> parse_architecture(std::string_view name);

// Whether a program that needs "sm_80" runs on "sm_86"; the error says what it needs. One with a letter
// (sm_90a) runs on that architecture only.
Result<void> check_architecture(std::string_view needs, std::string_view architecture);

}  // namespace stitch
