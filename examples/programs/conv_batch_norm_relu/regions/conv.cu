// A 3 x 3 convolution with padding 1 in exact FP32. A block has one image in shared memory, with its border
// of zeros, and makes 4 output channels of it: 1.5 MFLOP, 74 kB moved. Chosen where an image fits shared
// memory and there are too few channels for the tensor cores.
#include "../regions.h"
#include "stitch/runtime/launch.h"
#include "stitch/runtime/vectors.h"

namespace {

constexpr int threads = 256;
constexpr int group = 4;  // output channels of a block
constexpr int taps = 9;
constexpr int padded_height = height + 2, padded_width = width + 2;

__global__ void __launch_bounds__(threads) conv3x3(const float* __restrict__ x,       // (4, 8, 17, 15)
                                                   const float* __restrict__ weight,  // (10, 8, 3, 3)
                                                   const float* __restrict__ bias,    // (10)
                                                   float* __restrict__ conv2d) {      // (4, 10, 17, 15)
  __shared__ float image[channels_in][padded_height][padded_width];
  __shared__ alignas(16) float weights[channels_in * taps][group];  // a tap's 4 output channels together
  int thread = static_cast<int>(threadIdx.x);
  int first_channel = static_cast<int>(blockIdx.x) * group;
  const float* input = x + static_cast<int64_t>(blockIdx.y) * channels_in * pixels;

  for (int i = thread; i < channels_in * padded_height * padded_width; i += threads) {
    int channel = i / (padded_height * padded_width);
    int row = i / padded_width % padded_height - 1, column = i % padded_width - 1;
    bool inside = row >= 0 && row < height && column >= 0 && column < width;
    (&image[0][0][0])[i] = inside ? input[channel * pixels + row * width + column] : 0.0f;
  }
  for (int i = thread; i < channels_in * taps * group; i += threads) {
    int channel = first_channel + i % group;
    (&weights[0][0])[i] = channel < channels_out ? weight[channel * channels_in * taps + i / group] : 0.0f;
  }
  __syncthreads();

  for (int pixel = thread; pixel < pixels; pixel += threads) {
    int row = pixel / width, column = pixel % width;
    float sums[group] = {};
    for (int channel = 0; channel < channels_in; ++channel)
#pragma unroll
      for (int tap = 0; tap < taps; ++tap) {
        float value = image[channel][row + tap / 3][column + tap % 3];
        stitch::Pack<float, group> weights_of_tap = stitch::load<group>(&weights[channel * taps + tap][0], 0);
#pragma unroll
        for (int g = 0; g < group; ++g) sums[g] += value * weights_of_tap[g];
      }
    for (int g = 0; g < group && first_channel + g < channels_out; ++g) {
      int channel = first_channel + g;
      int64_t plane = static_cast<int64_t>(blockIdx.y) * channels_out + channel;
      conv2d[plane * pixels + pixel] = sums[g] + bias[channel];
    }
  }
}

}  // namespace

StitchStatus enqueue_conv(const float* x, const float* weight, const float* bias, float* conv2d,
                          cudaStream_t stream) {
  dim3 blocks(static_cast<unsigned>(stitch::divide_up(channels_out, group)), batch);
  return stitch::launch("conv3x3", conv3x3, {blocks, threads}, stream, x, weight, bias, conv2d);
}
