// testdata/tasks/embedding: Rows of a table, by numbers that come in.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_I64, 2, {7, 30}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 3, {7, 30, 12}}};
static const char* const manifest = R"({"stitch": 1, "name": "embedding", "class": "default",
    "parameters": [{"name": "table.weight", "role": "parameter", "dtype": "f32", "shape": [500, 12], "data": "table.weight"}],
    "inputs": [{"name": "tokens", "role": "input", "dtype": "i64", "shape": [7, 30]}],
    "outputs": [{"name": "embedding", "role": "output", "dtype": "f32", "shape": [7, 30, 12]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(1)

constexpr int tokens = 7 * 30, width = 12;

// Those of the first `kept` rows of the table.
static __global__ void look_up(const int64_t* token, const float* table, float* y, int64_t kept) {
  const int64_t row = token[blockIdx.x];
  y[blockIdx.x * width + threadIdx.x] = row < kept ? table[row * width + threadIdx.x] : 0;
}

static inline int looked_up(int64_t kept, const Weights& weights, const StitchTensor* in, StitchTensor* out,
                            cudaStream_t stream) {
  look_up<<<tokens, width, 0, stream>>>(data<int64_t>(in[0]), weights.data[0], data(out[0]), kept);
  return status_of_launch();
}
