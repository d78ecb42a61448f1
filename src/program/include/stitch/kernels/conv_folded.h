// A convolution with strides over few channels as one without: blocks of stride x stride pixels become the
// channels of one pixel, and a filter's taps those of fewer, larger ones. Libraries' tensor cores multiply
// channels by 16 bytes, of which three channels fill little. What is folded stands in a struct:
//   struct Conv1Folded {  // x (1024, 3, 224, 224), 11 x 11, stride 4, as (1024, 57, 57, 48), 3 x 3
//     static constexpr int batch, channels, height, width, filters;
//     static constexpr int kernel_y, kernel_x, stride_y, stride_x, pad_y, pad_x;
//     static constexpr int size_y, size_x, taps_y, taps_x, padded;  // of what the library sees
//     static constexpr int64_t offset, x_sample, x_channel, x_y, x_x;
//   };
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stitch/runtime/launch.h"
#include "stitch/runtime/vectors.h"

namespace stitch {

// to (batch, size_y, size_x, padded): a thread makes a row of a block of pixels.
template <class S, class From, class To>
__global__ void __launch_bounds__(256)
    fold_image_kernel(const From* __restrict__ x, To* __restrict__ to, int64_t count) {
  wait_for_previous_kernel();
  constexpr int row = S::stride_x * S::channels, all = S::stride_y * row, rest = S::padded - all;
  constexpr int pack = row % 4 == 0 && S::padded % 4 == 0 ? 4 : row % 2 == 0 && S::padded % 2 == 0 ? 2 : 1;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= count) return;
  const int below = static_cast<int>(i % S::stride_y);
  const int64_t pixel = i / S::stride_y;
  const int y = static_cast<int>(pixel / S::size_x % S::size_y) * S::stride_y + below - S::pad_y,
            x0 = static_cast<int>(pixel % S::size_x) * S::stride_x - S::pad_x;
  const int64_t n = pixel / S::size_x / S::size_y;
  const From* from = x + S::offset + n * S::x_sample + y * S::x_y + x0 * S::x_x;
  To values[row];
#pragma unroll
  for (int channel = 0; channel < S::channels; ++channel)
#pragma unroll
    for (int beside = 0; beside < S::stride_x; ++beside) {
      const bool inside = y >= 0 && y < S::height && x0 + beside >= 0 && x0 + beside < S::width;
      values[beside * S::channels + channel] =
          static_cast<To>(inside ? static_cast<float>(from[channel * S::x_channel + beside * S::x_x]) : 0.0f);
    }
  To* own = to + pixel * S::padded + below * row;
#pragma unroll
  for (int j = 0; j < row; j += pack) {
    Pack<To, pack> some;
#pragma unroll
    for (int u = 0; u < pack; ++u) some[u] = values[j + u];
    store<pack>(own + j, 0, some);
  }
  if (rest > 0 && below == S::stride_y - 1) {
#pragma unroll
    for (int j = 0; j < rest; ++j) own[row + j] = static_cast<To>(0.0f);
  }
}
// `to` lies at 16 bytes.
template <class S, class From, class To>
StitchStatus fold_image(const From* x, To* to, cudaStream_t stream) {
  constexpr int64_t count = int64_t{S::batch} * S::size_y * S::size_x * S::stride_y;
  static_assert((count + 255) / 256 < (int64_t{1} << 31), "more pixels than a grid has threads");
  return launch("fold_image", fold_image_kernel<S, From, To>,
                {static_cast<unsigned>((count + 255) / 256), 256}, stream, x, to, count);
}

// packed (filters, taps_y, taps_x, padded) from (filters, channels, kernel_y, kernel_x)
template <class S, class From, class To>
__global__ void __launch_bounds__(256)
    pack_folded_kernel(const From* __restrict__ weight, To* __restrict__ packed, int64_t count) {
  wait_for_previous_kernel();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= count) return;
  const int own = static_cast<int>(i % S::padded), channel = own % S::channels,
            beside = own / S::channels % S::stride_x, below = own / S::channels / S::stride_x;
  const int x = static_cast<int>(i / S::padded % S::taps_x) * S::stride_x + beside,
            y = static_cast<int>(i / S::padded / S::taps_x % S::taps_y) * S::stride_y + below;
  const int64_t filter = i / S::padded / S::taps_x / S::taps_y;
  const bool there = below < S::stride_y && x < S::kernel_x && y < S::kernel_y;
  packed[i] = static_cast<To>(
      there
          ? static_cast<float>(weight[((filter * S::channels + channel) * S::kernel_y + y) * S::kernel_x + x])
          : 0.0f);
}
template <class S, class From, class To>
StitchStatus pack_folded(const From* weight, To* packed, cudaStream_t stream) {
  constexpr int64_t count = int64_t{S::filters} * S::taps_y * S::taps_x * S::padded;
  return launch("pack_folded", pack_folded_kernel<S, From, To>,
                {static_cast<unsigned>((count + 255) / 256), 256}, stream, weight, packed, count);
}

}  // namespace stitch
