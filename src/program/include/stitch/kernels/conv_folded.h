// A strided convolution over few channels as one without stride (space to depth): blocks of stride x stride
// pixels become the channels of one pixel. Libraries' tensor cores take channels in 16 bytes, which three
// channels fill badly. Described by a struct:
//   struct Conv1Folded {  // x (1024, 3, 224, 224), 11 x 11, stride 4, as (1024, 57, 57, 48), 3 x 3
//     static constexpr int batch, channels, height, width, filters;
//     static constexpr int kernel_y, kernel_x, stride_y, stride_x, pad_y, pad_x;
//     static constexpr int size_y, size_x, taps_y, taps_x, padded;  // of what the library sees
//     static constexpr int64_t offset, x_sample, x_channel, x_y, x_x;
//   };
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stitch/kernels/pack_weight.h"
#include "stitch/runtime/launch.h"
#include "stitch/runtime/vectors.h"

namespace stitch {

// to (batch, size_y, size_x, padded): one thread per row of a block of pixels.
template <class Layer, class From, class To>
__global__ void __launch_bounds__(256)
    fold_image_kernel(const From* __restrict__ x, To* __restrict__ to, int64_t count, Layer layer) {
  wait_for_previous_kernel();
  constexpr int row = Layer::stride_x * Layer::channels, all = Layer::stride_y * row,
                rest = Layer::padded - all;
  constexpr int pack = row % 4 == 0 && Layer::padded % 4 == 0   ? 4
                       : row % 2 == 0 && Layer::padded % 2 == 0 ? 2
                                                                : 1;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= count) return;
  const int offset_y = static_cast<int>(i % Layer::stride_y);
  const int64_t pixel = i / Layer::stride_y;
  const int y = static_cast<int>(pixel / layer.size_x % layer.size_y) * Layer::stride_y + offset_y -
                Layer::pad_y,
            x0 = static_cast<int>(pixel % layer.size_x) * Layer::stride_x - Layer::pad_x;
  const int64_t n = pixel / layer.size_x / layer.size_y;
  const From* from = x + layer.offset + n * layer.x_sample + y * layer.x_y + x0 * layer.x_x;
  To values[row];
#pragma unroll
  for (int channel = 0; channel < Layer::channels; ++channel)
#pragma unroll
    for (int offset_x = 0; offset_x < Layer::stride_x; ++offset_x) {
      const bool inside = y >= 0 && y < layer.height && x0 + offset_x >= 0 && x0 + offset_x < layer.width;
      values[offset_x * Layer::channels + channel] = static_cast<To>(
          inside ? static_cast<float>(from[channel * layer.x_channel + offset_x * layer.x_x]) : 0.0f);
    }
  To* own = to + pixel * Layer::padded + offset_y * row;
#pragma unroll
  for (int j = 0; j < row; j += pack) {
    Pack<To, pack> some;
#pragma unroll
    for (int u = 0; u < pack; ++u) some[u] = values[j + u];
    store<pack>(own + j, 0, some);
  }
  if (rest > 0 && offset_y == Layer::stride_y - 1) {
#pragma unroll
    for (int j = 0; j < rest; ++j) own[row + j] = static_cast<To>(0.0f);
  }
}
// `to` is aligned to 16 bytes.
template <class Layer, class From, class To>
StitchStatus fold_image(Layer layer, const From* x, To* to, cudaStream_t stream) {
  const int64_t count = int64_t{layer.batch} * layer.size_y * layer.size_x * Layer::stride_y;
  return launch("fold_image", fold_image_kernel<Layer, From, To>, spread(count, 256), stream, x, to, count,
                layer);
}

// packed (filters, taps_y, taps_x, padded) from (filters, channels, kernel_y, kernel_x)
template <class Layer, class To>
struct FoldedPacking {
  static constexpr int64_t count = int64_t{Layer::filters} * Layer::taps_y * Layer::taps_x * Layer::padded;
  template <class Weight>
  __device__ static To element(const Weight* __restrict__ weight, int64_t i) {
    const int own = static_cast<int>(i % Layer::padded), channel = own % Layer::channels,
              offset_x = own / Layer::channels % Layer::stride_x,
              offset_y = own / Layer::channels / Layer::stride_x;
    const int x = static_cast<int>(i / Layer::padded % Layer::taps_x) * Layer::stride_x + offset_x,
              y = static_cast<int>(i / Layer::padded / Layer::taps_x % Layer::taps_y) * Layer::stride_y +
                  offset_y;
    const int64_t filter = i / Layer::padded / Layer::taps_x / Layer::taps_y;
    const bool valid = offset_y < Layer::stride_y && x < Layer::kernel_x && y < Layer::kernel_y;
    return static_cast<To>(
        valid
            ? static_cast<float>(
                  weight[((filter * Layer::channels + channel) * Layer::kernel_y + y) * Layer::kernel_x + x])
            : 0.0f);
  }
};
template <class Layer, class From, class To>
StitchStatus pack_folded(const From* weight, To* packed, cudaStream_t stream) {
  return pack_weight<FoldedPacking<Layer, To>>("pack_folded", weight, packed, stream);
}

}  // namespace stitch
