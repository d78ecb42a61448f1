// BatchNorm with the batch's statistics, ReLU and the running statistics, a block a channel. A channel's 1020
// values stay in registers between statistics and normalisation, so they are read once: 82 kB moved. Chosen
// where a channel fits the registers of one block.
#include "../regions.h"
#include "stitch/runtime/activations.h"
#include "stitch/runtime/launch.h"
#include "stitch/runtime/reductions.h"

namespace {

constexpr int threads = 256;
constexpr int values_of_channel = batch * pixels;
constexpr int values_of_thread = (values_of_channel + threads - 1) / threads;
constexpr float epsilon = 1e-5f, momentum = 0.1f;

// Statistics before and after may be the same memory: one thread reads and writes a channel's.
__global__ void __launch_bounds__(threads)
    batch_norm_relu(const float* __restrict__ conv2d,                                  // (4, 10, 17, 15)
                    const float* __restrict__ weight, const float* __restrict__ bias,  // (10)
                    const float* mean_before, const float* variance_before,            // (10)
                    const int64_t* batches_before,                                     // ()
                    float* __restrict__ relu,                                          // (4, 10, 17, 15)
                    float* mean_after, float* variance_after,                          // (10)
                    int64_t* batches_after) {                                          // ()
  int channel = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  // Value i of the channel: image i / 255, pixel i % 255.
  auto place = [&](int i) { return (i / pixels * channels_out + channel) * pixels + i % pixels; };

  float values[values_of_thread];
  stitch::Welford mine = {0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int v = 0; v < values_of_thread; ++v) {
    int i = v * threads + thread;
    if (i >= values_of_channel) break;
    values[v] = conv2d[place(i)];
    mine.add(values[v]);
  }
  stitch::Welford all =
      stitch::block_reduce<threads>(mine, stitch::Welford{0.0f, 0.0f, 0.0f}, stitch::Merge());

  float scale = weight[channel] * rsqrtf(all.variance() + epsilon);
  float shift = bias[channel];
#pragma unroll
  for (int v = 0; v < values_of_thread; ++v) {
    int i = v * threads + thread;
    if (i >= values_of_channel) break;
    relu[place(i)] = stitch::relu((values[v] - all.mean) * scale + shift);
  }
  if (thread != 0) return;
  mean_after[channel] = (1.0f - momentum) * mean_before[channel] + momentum * all.mean;
  variance_after[channel] = (1.0f - momentum) * variance_before[channel] + momentum * all.sample_variance();
  if (channel == 0) *batches_after = *batches_before + 1;
}

}  // namespace

StitchStatus enqueue_batch_norm_relu(const float* conv2d, const float* weight, const float* bias,
                                     const float* mean_before, const float* variance_before,
                                     const int64_t* batches_before, float* relu, float* mean_after,
                                     float* variance_after, int64_t* batches_after, cudaStream_t stream) {
  return stitch::launch("batch_norm_relu", batch_norm_relu, {channels_out, threads}, stream, conv2d, weight,
                        bias, mean_before, variance_before, batches_before, relu, mean_after, variance_after,
                        batches_after);
}
