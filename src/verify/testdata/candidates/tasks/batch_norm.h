// testdata/tasks/batch_norm: Statistics of the batch, and running ones that the call renews; gamma is 1 and
// beta 0 as made.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {
    {STITCH_F32, 2, {40, 17}}, {STITCH_F32, 1, {17}}, {STITCH_F32, 1, {17}}, {STITCH_I64, 0, {}}};
static const Wanted wanted_outputs[] = {
    {STITCH_F32, 2, {40, 17}}, {STITCH_F32, 1, {17}}, {STITCH_F32, 1, {17}}, {STITCH_I64, 0, {}}};
static const char* const manifest = R"({"stitch": 1, "name": "batch_norm", "class": "default",
    "parameters": [{"name": "norm.weight", "role": "parameter", "dtype": "f32", "shape": [17], "data": "norm.weight"},
      {"name": "norm.bias", "role": "parameter", "dtype": "f32", "shape": [17], "data": "norm.bias"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [40, 17]},
      {"name": "norm.running_mean", "role": "state", "dtype": "f32", "shape": [17], "data": "norm.running_mean"},
      {"name": "norm.running_var", "role": "state", "dtype": "f32", "shape": [17], "data": "norm.running_var"},
      {"name": "norm.num_batches_tracked", "role": "state", "dtype": "i64", "shape": [], "data": "norm.num_batches_tracked"}],
    "outputs": [{"name": "batch_norm", "role": "output", "dtype": "f32", "shape": [40, 17]},
      {"name": "batch_norm.batch_norm.1", "role": "update", "dtype": "f32", "shape": [17], "data": "norm.running_mean", "target": "norm.running_mean"},
      {"name": "batch_norm.batch_norm.2", "role": "update", "dtype": "f32", "shape": [17], "data": "norm.running_var", "target": "norm.running_var"},
      {"name": "add", "role": "update", "dtype": "i64", "shape": [], "data": "norm.num_batches_tracked", "target": "norm.num_batches_tracked"}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(2)

constexpr int batch = 40, channels = 17;

struct Switches {
  bool scales = true, renews = true;
};

static __global__ void batch_norm(const float* x, const float* weight, const float* bias,
                                  const float* mean_in, const float* variance_in, const int64_t* count_in,
                                  float* y, float* mean_out, float* variance_out, int64_t* count_out,
                                  Switches switches) {
  const int c = threadIdx.x;
  float mean = 0, variance = 0;
  for (int n = 0; n < batch; ++n) mean += x[n * channels + c];
  mean /= batch;
  for (int n = 0; n < batch; ++n) variance += (x[n * channels + c] - mean) * (x[n * channels + c] - mean);
  const float scale = rsqrtf(variance / batch + 1e-5f);
  for (int n = 0; n < batch; ++n) {
    const float normal = (x[n * channels + c] - mean) * scale;
    y[n * channels + c] = switches.scales ? normal * weight[c] + bias[c] : normal;
  }
  const float old_mean = mean_in[c], old_variance = variance_in[c];
  mean_out[c] = switches.renews ? 0.9f * old_mean + 0.1f * mean : old_mean;
  variance_out[c] = switches.renews ? 0.9f * old_variance + 0.1f * variance / (batch - 1) : old_variance;
  if (c == 0) *count_out = *count_in + 1;
}

static inline int normalise(const Weights& weights, const StitchTensor* in, StitchTensor* out,
                            cudaStream_t stream, Switches switches) {
  batch_norm<<<1, channels, 0, stream>>>(data(in[0]), weights.data[0], weights.data[1], data(in[1]),
                                         data(in[2]), data<int64_t>(in[3]), data(out[0]), data(out[1]),
                                         data(out[2]), data<int64_t>(out[3]), switches);
  return status_of_launch();
}
