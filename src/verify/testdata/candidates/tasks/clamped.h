// testdata/tasks/clamped: Bounds that inputs of the task's own kind never reach.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {30, 50}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {30, 50}}};
static const char* const manifest = R"({"stitch": 1, "name": "clamped", "class": "default",
    "parameters": [{"name": "bias", "role": "parameter", "dtype": "f32", "shape": [50], "data": "bias"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [30, 50]}],
    "outputs": [{"name": "clamp", "role": "output", "dtype": "f32", "shape": [30, 50]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(1)

constexpr int rows = 30, columns = 50;

static __global__ void shift(const float* x, const float* bias, float* y, bool clamps) {
  const int i = blockIdx.x * columns + threadIdx.x;
  const float moved = x[i] + bias[threadIdx.x];
  y[i] = clamps && moved == moved ? fminf(fmaxf(moved, -6.0f), 6.0f) : moved;
}
