// What a compute capability stands for: nvcc's name for it, its limits, and the instructions it has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch {

struct Architecture {
  int capability = 0;  // 90 is compute capability 9.0
  std::string name;    // as nvcc takes it: "sm_90a"

  int64_t shared_per_block = 0;  // bytes, where a kernel asks for the most there is (opt-in)
  int64_t shared_per_sm = 0;     // bytes
  int threads_per_sm = 0;
  int registers_per_sm = 0;

  // Multiply-adds a clock and multiprocessor: the rates of a GPU that only the driver describes.
  int fp32_lanes = 0;
  int fp64_lanes = 0;
  int tensor_fp16_lanes = 0;  // dense, fp32 accumulation; GeForce cards have half of it

  // Instructions.
  bool mma_tf32() const { return capability >= 80; }                      // m16n8k8
  bool mma_fp8() const { return capability >= 89; }                       // m16n8k32
  bool clusters() const { return capability >= 90; }                      // and distributed shared memory
  bool programmatic_launches() const { return capability >= 90; }         // griddepcontrol
  bool wgmma() const { return capability == 90; }                         // under the name sm_90a
  bool tcgen05() const { return capability >= 100 && capability < 120; }  // under the name sm_100a
};

// Those that programs are compiled for and tested on: 80, 86, 89, 90a, 100, 103, 120.
std::span<const Architecture> supported_architectures();

// A capability that is not in the table is as the nearest one below it, under its own name.
Architecture architecture_of(int capability);

// "9.0" is 90.
Result<int> parse_compute_capability(std::string_view text);
// "sm_90a" and "sm_90" are 90.
Result<int> parse_architecture(std::string_view name);

// Whether a program that needs "sm_80" runs on "sm_86": the error says what it needs. One with a letter
// (sm_90a) runs on that architecture alone.
Result<void> check_architecture(std::string_view needs, std::string_view architecture);

}  // namespace stitch
