// What profile would hand to its page: long names, many kernels, host calls, regions with sources and lines.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/commands/profile.h"

namespace stitch::samples {

inline std::vector<runner::Activity> profiled_call(int kernels, int64_t length, int64_t gap, bool timed) {
  std::vector<runner::Activity> out;
  int64_t at = 40'000;
  for (int i = 0; i < kernels; ++i) {
    runner::Activity one{.name = format("layer{}_conv_{}(float const*, float*)", i / 8, i),
                         .start_ns = timed ? at : 0,
                         .end_ns = timed ? at + length * (1 + i % 5) : 0,
                         .stream = 7 + i % 2,
                         .registers = 96,
                         .shared_bytes = 16'384,
                         .correlation = i + 1};
    if (i % 9 == 4)
      one.name =
          "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>(cutlass_80_tensorop_"
          "s1688gemm_128x128_16x5_nn_align4::Params)";
    one.grid[0] = 264;
    one.block[0] = 256;
    one.grid[1] = one.grid[2] = one.block[1] = one.block[2] = 1;
    out.push_back(one);
    if (timed)
      out.push_back({.name = "cudaLaunchKernel",
                     .kind = runner::ActivityKind::host_call,
                     .start_ns = at - 9'000,
                     .end_ns = at - 5'000,
                     .stream = 1,
                     .correlation = i + 1});
    at += length * (1 + i % 5) + gap;
  }
  return out;
}

inline Json profiled(bool measured) {
  ProfileRun run{.model = "KernelBench/level3/9_ResNet18.py",
                 .program = "program/",
                 .device = measured ? "cuda" : "emulated",
                 .gpu = *find_gpu("H200"),
                 .baseline = "eager"};
  run.pytorch =
      profile::make_timeline(profile::Side::pytorch, "H200", profiled_call(70, 4'000, 6'000, measured));
  run.collected.emplace();
  run.collected->manifest.name = "resnet18";
  for (int i = 0; i < 40; ++i)
    run.collected->manifest.regions.push_back(
        {.name = format("layer{}_conv_{}", i / 8, i),
         .file = format("regions/layer{}_conv.cu", i / 8),
         .technique = "implicit GEMM on tensor cores, fp16 operands, batch norm and ReLU in the epilogue"});
  run.collected->timeline =
      profile::make_timeline(profile::Side::program, "H200", profiled_call(40, 3'000, 500, measured));
  int region = 0;
  for (auto& one : run.collected->timeline.activities) one.region = region++;
  for (const auto& one : run.collected->timeline.activities)
    run.collected->metrics[one.name] = profile::metrics_of_launch(one, nullptr, run.gpu);
  run.collected->missing =
      "no permission to read the GPU's performance counters: ==ERROR== ERR_NVGPUCTRPERM - The user does not "
      "have "
      "permission to access NVIDIA GPU Performance Counters";
  run.notes = {"a note about <b>nothing</b>"};
  Json out = profile_json(run);
  for (int i = 0; measured && i < 5; ++i)
    out["sources"][format("regions/layer{}_conv.cu", i)] =
        "__global__ void f(const float* x, float* y) {\n  y[threadIdx.x] = x[threadIdx.x] < 0 ? 0 : "
        "x[threadIdx.x];  // (N, H, W, C), a comment that goes on and on beyond what a narrow window can "
        "show\n}\n";
  return out;
}

}  // namespace stitch::samples
