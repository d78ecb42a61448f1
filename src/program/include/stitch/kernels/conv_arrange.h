// Around cuDNN's convolutions: images into channels-last order and the type it multiplies, filters packed the
// same way, results finished (epilogue, order, type). Each reads and writes every element once; where the
// order changes, through 32 x 32 tiles in shared memory, so that both sides move whole lines.
#pragma once

#include "stitch/kernels/matmul.h"

namespace stitch {
// Where a pixel of an image lies: any strides.
struct ImageStrides {
  int64_t sample, channel, z, y, x;
  int height, width;  // of a plane (depth, height, width)
  __device__ __forceinline__ int64_t operator()(int64_t n, int64_t c, int64_t pixel) const {
    return n * sample + c * channel + pixel / width / height * z + pixel / width % height * y +
           pixel % width * x;
  }
};

constexpr int image_tile = 32, image_tile_rows = 8;
inline Geometry image_tiles(int64_t samples, int64_t channels, int64_t pixels) {
  return {dim3(static_cast<unsigned>(divide_up(pixels, image_tile) * divide_up(channels, image_tile)),
               static_cast<unsigned>(samples < 65535 ? samples : 65535)),
          dim3(image_tile, image_tile_rows)};
}

// to (samples, pixels, padded channels): channels behind the last are zero.
template <class From, class To>
__global__ void __launch_bounds__(image_tile* image_tile_rows)
    channels_last_kernel(const From* __restrict__ from, To* __restrict__ to, ImageStrides strides,
                         int samples, int channels, int padded, int pixels) {
  __shared__ float tile[image_tile][image_tile + 1];
  const int pixel_tiles = (pixels + image_tile - 1) / image_tile;
  const int pixel0 = static_cast<int>(blockIdx.x) % pixel_tiles * image_tile;
  const int channel0 = static_cast<int>(blockIdx.x) / pixel_tiles * image_tile;
  const int lane = static_cast<int>(threadIdx.x);
  for (int n = static_cast<int>(blockIdx.y); n < samples; n += static_cast<int>(gridDim.y)) {
    for (int row = static_cast<int>(threadIdx.y); row < image_tile; row += image_tile_rows) {
      int channel = channel0 + row, pixel = pixel0 + lane;
      tile[row][lane] =
          channel < channels && pixel < pixels ? static_cast<float>(from[strides(n, channel, pixel)]) : 0.0f;
    }
    __syncthreads();
    for (int row = static_cast<int>(threadIdx.y); row < image_tile; row += image_tile_rows) {
      int channel = channel0 + lane, pixel = pixel0 + row;
      if (channel < padded && pixel < pixels)
        to[(static_cast<int64_t>(n) * pixels + pixel) * padded + channel] = static_cast<To>(tile[lane][row]);
    }
    __syncthreads();
  }
}
template <class From, class To>
StitchStatus to_channels_last(const From* from, To* to, const ImageStrides& strides, int samples,
                              int channels, int padded, int pixels, cudaStream_t stream) {
  return launch("to_channels_last", channels_last_kernel<From, To>, image_tiles(samples, padded, pixels),
                stream, from, to, strides, samples, channels, padded, pixels);
}

// to (samples, channels, pixels)
template <class From, class To>
__global__ void __launch_bounds__(256)
    channels_first_kernel(const From* __restrict__ from, To* __restrict__ to, ImageStrides strides,
                          int64_t count, int channels, int pixels) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i < count)
    to[i] = static_cast<To>(
        static_cast<float>(from[strides(i / pixels / channels, i / pixels % channels, i % pixels)]));
}
template <class From, class To>
StitchStatus to_channels_first(const From* from, To* to, const ImageStrides& strides, int samples,
                               int channels, int pixels, cudaStream_t stream) {
  int64_t count = int64_t{samples} * channels * pixels;
  return launch("to_channels_first", channels_first_kernel<From, To>,
                {static_cast<unsigned>(divide_up(count, 256)), 256}, stream, from, to, strides, count,
                channels, pixels);
}

// packed (filters, taps, padded channels) from (filters, channels, taps)
template <class From, class To>
__global__ void __launch_bounds__(256)
    pack_filter_kernel(const From* __restrict__ weight, To* __restrict__ packed, int64_t count, int channels,
                       int padded, int taps) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= count) return;
  const int channel = static_cast<int>(i % padded), tap = static_cast<int>(i / padded % taps);
  const int64_t filter = i / padded / taps;
  packed[i] = static_cast<To>(
      channel < channels ? static_cast<float>(weight[(filter * channels + channel) * taps + tap]) : 0.0f);
}
template <class From, class To>
StitchStatus pack_filter(const From* weight, To* packed, int filters, int channels, int padded, int taps,
                         cudaStream_t stream) {
  int64_t count = int64_t{filters} * padded * taps;
  return launch("pack_filter", pack_filter_kernel<From, To>,
                {static_cast<unsigned>(divide_up(count, 256)), 256}, stream, weight, packed, count, channels,
                padded, taps);
}

// The result as it should be, from cuDNN's: P has its indices (matmul.h), groups · rows are channels, columns
// are samples · pixels. The image may be `out` itself where the orders agree.
template <class P, bool last, class From, class Epilogue>
__global__ void __launch_bounds__(256)
    finish_image_kernel(const From* image, typename P::Out* out, Epilogue epilogue, int pixels) {
  using Index = typename P::Index;
  constexpr int64_t all = int64_t{P::batches} * P::rows * P::columns,
                    channels = int64_t{P::batches} * P::rows;
  using Flat = flat_index_t<all>;
  const int64_t wide = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (wide >= all) return;
  const Flat i = static_cast<Flat>(wide), plane = static_cast<Flat>(pixels);
  const Flat channel = last ? i % Flat{channels} : i / plane % Flat{channels};
  const Flat column = last ? i / Flat{channels} : i / plane / Flat{channels} * plane + i % plane;
  const Index group = static_cast<Index>(channel / Flat{P::rows}),
              row = static_cast<Index>(channel % Flat{P::rows});
  typename P::Sum value =
      epilogue(static_cast<typename P::Sum>(image[i]), P::position(group, row, static_cast<Index>(column)));
  out[P::out(group, row, static_cast<Index>(column))] = static_cast<typename P::Out>(value);
}
template <class P, bool last, class From, class Epilogue>
StitchStatus finish_image(const char* name, const From* image, typename P::Out* out, Epilogue epilogue,
                          int pixels, cudaStream_t stream) {
  constexpr int64_t count = int64_t{P::batches} * P::rows * P::columns;
  return launch(name, finish_image_kernel<P, last, From, Epilogue>,
                {static_cast<unsigned>(divide_up(count, 256)), 256}, stream, image, out, epilogue, pixels);
}

// The same from channels last to planes.
template <class P, class From, class Epilogue>
__global__ void __launch_bounds__(image_tile* image_tile_rows)
    finish_transposed_kernel(const From* __restrict__ image, typename P::Out* __restrict__ out,
                             Epilogue epilogue, int samples, int pixels) {
  using Index = typename P::Index;
  constexpr int channels = static_cast<int>(int64_t{P::batches} * P::rows);
  __shared__ float tile[image_tile][image_tile + 1];
  const int pixel_tiles = (pixels + image_tile - 1) / image_tile;
  const int pixel0 = static_cast<int>(blockIdx.x) % pixel_tiles * image_tile;
  const int channel0 = static_cast<int>(blockIdx.x) / pixel_tiles * image_tile;
  const int lane = static_cast<int>(threadIdx.x);
  for (int n = static_cast<int>(blockIdx.y); n < samples; n += static_cast<int>(gridDim.y)) {
    for (int row = static_cast<int>(threadIdx.y); row < image_tile; row += image_tile_rows) {
      int channel = channel0 + lane, pixel = pixel0 + row;
      if (channel < channels && pixel < pixels)
        tile[row][lane] =
            static_cast<float>(image[(static_cast<int64_t>(n) * pixels + pixel) * channels + channel]);
    }
    __syncthreads();
    for (int row = static_cast<int>(threadIdx.y); row < image_tile; row += image_tile_rows) {
      int channel = channel0 + row, pixel = pixel0 + lane;
      if (channel >= channels || pixel >= pixels) continue;
      const Index group = static_cast<Index>(channel) / P::rows,
                  filter = static_cast<Index>(channel) % P::rows;
      const Index column = static_cast<Index>(n) * pixels + pixel;
      out[P::out(group, filter, column)] =
          static_cast<typename P::Out>(epilogue(tile[lane][row], P::position(group, filter, column)));
    }
    __syncthreads();
  }
}
template <class P, class From, class Epilogue>
StitchStatus finish_transposed(const char* name, const From* image, typename P::Out* out, Epilogue epilogue,
                               int samples, int pixels, cudaStream_t stream) {
  return launch(name, finish_transposed_kernel<P, From, Epilogue>,
                image_tiles(samples, int64_t{P::batches} * P::rows, pixels), stream, image, out, epilogue,
                samples, pixels);
}

}  // namespace stitch
