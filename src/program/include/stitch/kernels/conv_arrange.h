// Layout conversions around cuDNN's convolutions: images to NHWC and to the multiplied type, filters packed
// likewise, results finished (epilogue, layout, type). Each reads and writes every element once; layout
// changes go through tiles in shared memory, so that both sides are coalesced.
#pragma once

#include <type_traits>
#include <utility>

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/pack_weight.h"
#include "stitch/runtime/mma.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// An FP32 number rounded to TF32's ten bits, where tensor cores would truncate.
struct Tf32 {
  float value;
  Tf32() = default;
  // In the body: nvcc leaves member initialisers to the host compiler, which lacks the function.
  __device__ __forceinline__ explicit Tf32(float number) { value = __uint_as_float(tf32_bits(number)); }
};

// Strides of an image.
struct ImageStrides {
  int64_t sample, channel, z, y, x;
  int height, width;  // of a plane (depth, height, width)
  __host__ __device__ __forceinline__ int64_t of_pixel(int pixel) const {
    return pixel / width / height * z + pixel / width % height * y + pixel % width * x;
  }
  __device__ __forceinline__ int64_t operator()(int64_t n, int64_t c, int pixel) const {
    return n * sample + c * channel + of_pixel(pixel);
  }
  // Whether the pixels of a plane are contiguous.
  bool dense(int pixels) const {
    return x == 1 && (pixels == width || y == width) &&
           (pixels == width * height || z == int64_t{width} * height);
  }
};

// Elements per 16 bytes, if a row of channels is a multiple of that.
template <class Element, int channels>
constexpr int image_pack = channels % (16 / sizeof(Element)) == 0 ? 16 / sizeof(Element)
                           : channels % 2 == 0                    ? 2
                                                                  : 1;

constexpr int image_threads = 256, image_elements = 4096;
// A block's tile of an image in shared memory, pixels contiguous per channel. One side moves along the pixels
// of a channel, the other along packs of channels: the pitch makes both conflict-free.
template <int all_channels, int pack>
struct ImageTile {
  static constexpr int channels = all_channels <= 16 ? 16 : all_channels <= 32 ? 32 : 64;
  static constexpr int pixels = image_elements / channels;
  static constexpr int packs = channels / pack;        // per pixel
  static constexpr int rows = image_threads / pixels;  // channels moved at once by a block
  static constexpr int turns = channels / rows;
  static constexpr int pack_turns = pixels * packs / image_threads;
  float values[image_elements];
  __device__ __forceinline__ float& at(int channel, int pixel) {
    constexpr int apart = packs < 32 ? 32 / packs : 1;
    return values[channel * pixels + (pixel + channel / pack * apart) % pixels];
  }
  static Geometry geometry(int64_t samples, int64_t image_pixels) {
    return {blocks_of(samples * divide_up(all_channels, channels) * divide_up(image_pixels, pixels)),
            image_threads};
  }
};
// The block's part of the image.
template <class Tile, int all_channels>
struct ImagePart {
  int sample, channel0, pixel0;
  __device__ __forceinline__ explicit ImagePart(int pixels) {
    constexpr int channel_tiles = (all_channels + Tile::channels - 1) / Tile::channels;
    const int pixel_tiles = (pixels + Tile::pixels - 1) / Tile::pixels;
    const int block = static_cast<int>(blockIdx.x), plane = block / pixel_tiles;
    pixel0 = (block - plane * pixel_tiles) * Tile::pixels;
    channel0 = plane % channel_tiles * Tile::channels;
    sample = plane / channel_tiles;
  }
};

// to (samples, pixels, padded channels): padded channels are zero. `dense`: the pixels of a plane are
// contiguous. Lanes read along pixels and write packs along channels.
template <class From, class To, int padded, bool dense>
__global__ void __launch_bounds__(image_threads, 6)
    channels_last_kernel(const From* __restrict__ from, To* __restrict__ to, ImageStrides strides,
                         int channels, int pixels) {
  wait_for_previous_kernel();
  constexpr int pack = image_pack<To, padded>;
  using Tile = ImageTile<padded, pack>;
  __shared__ Tile tile;
  const ImagePart<Tile, padded> part(pixels);
  const int channel0 = part.channel0, pixel0 = part.pixel0;
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % Tile::pixels, row = thread / Tile::pixels;
  const int pixel = pixel0 + column;
  const int64_t in_plane = dense ? pixel : strides.of_pixel(pixel);
  const From* source = from + part.sample * strides.sample + (channel0 + row) * strides.channel + in_plane;
  From held[Tile::turns];  // all loads are issued before the first use
#pragma unroll
  for (int i = 0; i < Tile::turns; ++i)
    held[i] = channel0 + row + i * Tile::rows < channels && pixel < pixels
                  ? source[i * Tile::rows * strides.channel]
                  : static_cast<From>(0.0f);
#pragma unroll
  for (int i = 0; i < Tile::turns; ++i) tile.at(row + i * Tile::rows, column) = static_cast<float>(held[i]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Tile::pack_turns; ++i) {
    const int at = i * image_threads + thread, first = at % Tile::packs * pack;
    const int out_pixel = pixel0 + at / Tile::packs;
    Pack<To, pack> values;
#pragma unroll
    for (int v = 0; v < pack; ++v) values[v] = static_cast<To>(tile.at(first + v, at / Tile::packs));
    if (channel0 + first < padded && out_pixel < pixels)
      store<pack>(to + (static_cast<int64_t>(part.sample) * pixels + out_pixel) * padded + channel0 + first,
                  0, values);
  }
}
// Few channels: one thread per pixel.
template <class From, class To, int padded>
__global__ void __launch_bounds__(image_threads)
    few_channels_last_kernel(const From* __restrict__ from, To* __restrict__ to, ImageStrides strides,
                             int64_t count, int channels, int pixels) {
  wait_for_previous_kernel();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * image_threads + threadIdx.x;
  if (i >= count) return;
  const int64_t n = i / pixels;
  const From* pixel = from + strides(n, 0, static_cast<int>(i - n * pixels));
  Pack<To, padded> values;
#pragma unroll
  for (int channel = 0; channel < padded; ++channel)
    values[channel] =
        static_cast<To>(channel < channels ? static_cast<float>(pixel[channel * strides.channel]) : 0.0f);
  store<padded>(to, i, values);
}
// `to` is aligned to 16 bytes.
template <int padded, class From, class To>
StitchStatus to_channels_last(const From* from, To* to, const ImageStrides& strides, int samples,
                              int channels, int pixels, cudaStream_t stream) {
  if constexpr (padded * sizeof(To) == 16) {
    int64_t count = int64_t{samples} * pixels;
    return launch("to_channels_last", few_channels_last_kernel<From, To, padded>,
                  {blocks_of(divide_up(count, image_threads)), image_threads}, stream, from, to, strides,
                  count, channels, pixels);
  } else {
    return launch("to_channels_last",
                  strides.dense(pixels) ? channels_last_kernel<From, To, padded, true>
                                        : channels_last_kernel<From, To, padded, false>,
                  ImageTile<padded, image_pack<To, padded>>::geometry(samples, pixels), stream, from, to,
                  strides, channels, pixels);
  }
}

// to (samples, channels, pixels)
template <class From, class To>
__global__ void __launch_bounds__(256)
    channels_first_kernel(const From* __restrict__ from, To* __restrict__ to, ImageStrides strides,
                          int64_t count, int channels, int pixels) {
  wait_for_previous_kernel();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i < count)
    to[i] = static_cast<To>(static_cast<float>(
        from[strides(i / pixels / channels, i / pixels % channels, static_cast<int>(i % pixels))]));
}
template <class From, class To>
StitchStatus to_channels_first(const From* from, To* to, const ImageStrides& strides, int samples,
                               int channels, int pixels, cudaStream_t stream) {
  int64_t count = int64_t{samples} * channels * pixels;
  return launch("to_channels_first", channels_first_kernel<From, To>, {blocks_of(divide_up(count, 256)), 256},
                stream, from, to, strides, count, channels, pixels);
}

// packed (filters, taps, padded channels) from (filters, channels, taps)
template <class From, class To>
__global__ void __launch_bounds__(256)
    pack_filter_kernel(const From* __restrict__ weight, To* __restrict__ packed, int64_t count, int channels,
                       int padded, int taps) {
  wait_for_previous_kernel();
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
  return launch("pack_filter", pack_filter_kernel<From, To>, {blocks_of(divide_up(count, 256)), 256}, stream,
                weight, packed, count, channels, padded, taps);
}

// A transposed convolution as one convolution with the filters of every phase: output o along an axis is the
// sum over j of pixel (o + padding) / stride - j and tap (o + padding) % stride + j * stride. Phases has the
// sizes, `before` is the padding in whole strides. Maps an output to its place in that convolution's result,
// (sample, z, y, x, phase, channel):
struct NoPhases {};
template <class Phases>
struct InPhases {
  Phases sizes;
  __device__ __forceinline__ int64_t operator()(int sample, int pixel) const {
    const int z = pixel / sizes.width / sizes.height + sizes.before_z;
    const int y = pixel / sizes.width % sizes.height + sizes.before_y;
    const int x = pixel % sizes.width + sizes.before_x;
    const int phase = (z % Phases::stride_z * Phases::stride_y + y % Phases::stride_y) * Phases::stride_x +
                      x % Phases::stride_x;
    const int64_t row =
        (int64_t{sample} * sizes.size_z + z / Phases::stride_z) * sizes.size_y + y / Phases::stride_y;
    constexpr int phases = Phases::stride_z * Phases::stride_y * Phases::stride_x;
    return ((row * sizes.size_x + x / Phases::stride_x) * phases + phase) * Phases::filters;
  }
};
// packed (phases, filters, taps of a phase, padded channels) from (channels, filters, kernel)
template <class Phases, int padded, class To>
struct PhasesPacking {
  static constexpr int64_t count = int64_t{Phases::stride_z} * Phases::stride_y * Phases::stride_x *
                                   Phases::filters * Phases::taps_z * Phases::taps_y * Phases::taps_x *
                                   padded;
  template <class Weight>
  __device__ static To element(const Weight* __restrict__ weight, int64_t rest) {
    auto next = [&](int size) {
      const int own = static_cast<int>(rest % size);
      rest /= size;
      return own;
    };
    const int channel = next(padded);
    // A convolution runs along pixels, j against them.
    const int x = Phases::taps_x - 1 - next(Phases::taps_x), y = Phases::taps_y - 1 - next(Phases::taps_y),
              z = Phases::taps_z - 1 - next(Phases::taps_z);
    const int filter = next(Phases::filters);
    const int tap_x = next(Phases::stride_x) + x * Phases::stride_x,
              tap_y = next(Phases::stride_y) + y * Phases::stride_y,
              tap_z = next(Phases::stride_z) + z * Phases::stride_z;
    const bool valid = channel < Phases::channels && tap_x < Phases::kernel_x && tap_y < Phases::kernel_y &&
                       tap_z < Phases::kernel_z;
    const int64_t row = ((int64_t{channel} * Phases::filters + filter) * Phases::kernel_z + tap_z);
    return static_cast<To>(
        valid ? static_cast<float>(weight[(row * Phases::kernel_y + tap_y) * Phases::kernel_x + tap_x])
              : 0.0f);
  }
};
template <class Phases, int padded, class From, class To>
StitchStatus pack_phases(const From* weight, To* packed, cudaStream_t stream) {
  return pack_weight<PhasesPacking<Phases, padded, To>>("pack_phases", weight, packed, stream);
}
// Identity mapping: (sample, pixel, channel).
template <int channels>
struct InOrder {
  int pixels;
  __device__ __forceinline__ int64_t operator()(int sample, int pixel) const {
    return (int64_t{sample} * pixels + pixel) * channels;
  }
};

// An fp16 result finished into fp16 is rounded twice, and a bias shifts all values of a channel off the first
// grid by the same fraction of a step: rounding to nearest would bias them all, and a mean over the image,
// too (7.6e-5 where TF32 has 8e-6). So it rounds up with that fraction as probability, decided by the
// position: deterministic.
template <class Out, class From, class Sum, class Index>
__device__ __forceinline__ Out finished_as(Sum value, Index position) {
  if constexpr (std::is_same_v<Out, __half> && std::is_same_v<From, __half>) {
    constexpr float largest = 65504.0f;
    constexpr unsigned below = (1u << 13) - 1;  // the bits that fp16 lacks
    const float exact = static_cast<float>(value);
    if (!(fabsf(exact) < largest)) return static_cast<Out>(exact);
    unsigned mixed = static_cast<unsigned>(position) * 0x9e3779b1u;
    mixed = (mixed ^ (mixed >> 15)) * 0x85ebca77u;
    return static_cast<Out>(__uint_as_float((__float_as_uint(exact) + (mixed >> 19)) & ~below));
  } else {
    return static_cast<Out>(value);
  }
}
// Finishes cuDNN's result: Product has the indices (matmul.h), groups · rows are channels, columns are
// samples · pixels. The image may be `out` itself if the layouts agree. A thread takes `pack` contiguous
// elements of the image; `contiguous_out`: they are contiguous in `out`, too. Phases: the layout of a
// transposed convolution.
template <class Product, bool last, int pack, bool contiguous_out, class Phases, class From, class Epilogue>
__global__ void __launch_bounds__(256)
    finish_image_kernel(const From* image, typename Product::Out* out, Epilogue epilogue, int pixels,
                        Product product, Phases phases) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  using Flat = flat_t<Product>;
  constexpr int64_t channels = int64_t{Product::batches} * Product::rows;
  const int64_t all = channels * product.columns;
  const int64_t wide = (static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x) * pack;
  if (wide >= all) return;
  Pack<typename Product::Out, pack> results;
  Index at[pack];
  // Packs stay inside a run of channels or pixels: one division per pack.
  const Flat first = static_cast<Flat>(wide), plane = static_cast<Flat>(pixels);
  const Flat channel = last ? first % Flat{channels} : first / plane % Flat{channels};
  const Flat column = last ? first / Flat{channels} : first / plane / Flat{channels} * plane + first % plane;
  int64_t from = wide;
  if constexpr (!std::is_same_v<Phases, NoPhases>)
    from = InPhases<Phases>{phases}(static_cast<int>(column / plane), static_cast<int>(column % plane)) +
           channel;
  const Pack<From, pack> values = load<pack>(image + from, 0);
#pragma unroll
  for (int v = 0; v < pack; ++v) {
    const Index own = static_cast<Index>(channel) + (last ? v : 0),
                place = static_cast<Index>(column) + (last ? 0 : v);
    const Index group = own / Product::rows, row = own % Product::rows;
    at[v] = product.out(group, row, place);
    const Index position = product.position(group, row, place);
    results[v] = finished_as<typename Product::Out, From>(
        epilogue(static_cast<typename Product::Sum>(values[v]), position), position);
  }
  if constexpr (contiguous_out) {
    store<pack>(out + at[0], 0, results);
  } else {
#pragma unroll
    for (int v = 0; v < pack; ++v) out[at[v]] = results[v];
  }
}
// `pack` contiguous elements of the image are contiguous in `out`; 1: unknown.
template <bool last, int pack, class Product, class From, class Epilogue, class Phases = NoPhases>
StitchStatus finish_image(const char* name, Product product, const From* image, typename Product::Out* out,
                          Epilogue epilogue, int pixels, cudaStream_t stream, Phases phases = {}) {
  const int64_t count = int64_t{Product::batches} * Product::rows * product.columns;
  bool packed = reinterpret_cast<uintptr_t>(image) % (pack * sizeof(From)) == 0 &&
                reinterpret_cast<uintptr_t>(out) % (pack * sizeof(typename Product::Out)) == 0;
  if (pack > 1 && packed)
    return launch(name, finish_image_kernel<Product, last, pack, true, Phases, From, Epilogue>,
                  {blocks_of(divide_up(count / pack, 256)), 256}, stream, image, out, epilogue, pixels,
                  product, phases);
  return launch(name, finish_image_kernel<Product, last, 1, false, Phases, From, Epilogue>,
                {blocks_of(divide_up(count, 256)), 256}, stream, image, out, epilogue, pixels, product,
                phases);
}

// Operands that an epilogue reads once per run, if it declares them: mostly its bias.
template <class Epilogue, class Index, class = void>
struct SharesByRun : std::false_type {};
template <class Epilogue, class Index>
struct SharesByRun<Epilogue, Index, std::void_t<decltype(std::declval<Epilogue>().shared(Index()))>>
    : std::true_type {};
template <class Epilogue, class Index>
__device__ __forceinline__ auto shared_by_run(const Epilogue& epilogue, Index position) {
  if constexpr (SharesByRun<Epilogue, Index>::value)
    return epilogue.shared(position);
  else
    return NoEpilogue{};
}
template <class Epilogue, class Sum, class Index, class Shared>
__device__ __forceinline__ Sum finished(const Epilogue& epilogue, Sum value, Index position,
                                        const Shared& shared) {
  if constexpr (std::is_same_v<Shared, NoEpilogue>)
    return epilogue(value, position);
  else
    return epilogue(value, position, shared);
}

// A block's tile on its way from NHWC to NCHW: pixels of a channel contiguous, in 32-bit words. Writes along
// packs of channels are conflict-free, and so are reads of words along pixels, by twos.
template <class Element, int all_channels>
struct PlanesTile {
  static constexpr int pack = image_pack<Element, all_channels>;
  static constexpr int in_word = sizeof(Element) == 2 ? 2 : 1;  // pixels
  static constexpr int channels = all_channels <= 16 ? 16 : all_channels <= 32 ? 32 : 64;
  static constexpr int pixels = channels == 16 ? 256 : 4096 * in_word / channels;
  static constexpr int words = pixels / in_word;  // per channel
  static constexpr int packs = channels / pack;   // per pixel
  static constexpr int turns = words * packs / image_threads;
  static constexpr int apart = packs < 16 ? 32 / packs : 2;
  using Word = Pack<Element, in_word>;
  alignas(16) Word values[channels * words];
  __device__ __forceinline__ Word* at(int channel, int word) {
    return values + channel * words + (word + channel / pack * apart) % words;
  }
};

// The same from NHWC, 16-byte aligned, to NCHW. `run` pixels of a channel at once: where 4 are contiguous in
// `out`, 16-byte aligned, index arithmetic and the epilogue's loads are shared.
template <class Product, int run, class Where, class From, class Epilogue>
__global__ void __launch_bounds__(image_threads, 4)
    finish_transposed_kernel(const From* __restrict__ image, typename Product::Out* __restrict__ out,
                             Epilogue epilogue, int pixels, Where where, Product product) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  constexpr int channels = static_cast<int>(int64_t{Product::batches} * Product::rows);
  using Tile = PlanesTile<From, channels>;
  using Word = typename Tile::Word;
  constexpr int pack = Tile::pack, in_word = Tile::in_word;
  __shared__ Tile tile;
  const ImagePart<Tile, channels> part(pixels);
  const int channel0 = part.channel0, pixel0 = part.pixel0, thread = static_cast<int>(threadIdx.x);
  Pack<From, pack> held[Tile::turns][in_word];  // all loads are issued before the first use
#pragma unroll
  for (int i = 0; i < Tile::turns; ++i) {
    const int at = i * image_threads + thread, first = channel0 + at % Tile::packs * pack;
#pragma unroll
    for (int w = 0; w < in_word; ++w) {
      const int pixel = pixel0 + at / Tile::packs * in_word + w;
      held[i][w] = first < channels && pixel < pixels
                       ? load<pack>(image + where(part.sample, pixel) + first, 0)
                       : Pack<From, pack>{};
    }
  }
#pragma unroll
  for (int i = 0; i < Tile::turns; ++i) {
    const int at = i * image_threads + thread;
    Word* const first = tile.at(at % Tile::packs * pack, at / Tile::packs);
#pragma unroll
    for (int v = 0; v < pack; ++v) {
      Word word;
#pragma unroll
      for (int w = 0; w < in_word; ++w) word[w] = held[i][w][v];
      first[v * Tile::words] = word;
    }
  }
  __syncthreads();
  constexpr int columns = Tile::pixels / run, rows = image_threads / columns;
  const int column = thread % columns * run, row = thread / columns, pixel = pixel0 + column;
  if (pixel >= pixels) return;
  const Index place = static_cast<Index>(part.sample) * pixels + pixel;
#pragma unroll
  for (int i = 0; i < Tile::channels / rows; ++i) {
    const int channel = channel0 + row + i * rows;
    if (channels % Tile::channels != 0 && channel >= channels) return;
    const Index group = static_cast<Index>(channel) / Product::rows,
                filter = static_cast<Index>(channel) % Product::rows;
    const Index position = product.position(group, filter, place);
    From values[run];
    if constexpr (run == 1) {
      values[0] = (*tile.at(row + i * rows, column / in_word))[column % in_word];
    } else {
#pragma unroll
      for (int v = 0; v < run; v += 2 * in_word) {
        const auto two = load<2>(tile.at(row + i * rows, (column + v) / in_word), 0);
#pragma unroll
        for (int w = 0; w < 2 * in_word; ++w) values[v + w] = two[w / in_word][w % in_word];
      }
    }
    const auto shared = shared_by_run(epilogue, position);
    Pack<typename Product::Out, run> results;
#pragma unroll
    for (int v = 0; v < run; ++v)
      results[v] = finished_as<typename Product::Out, From>(
          finished(epilogue, static_cast<typename Product::Sum>(values[v]), position + v, shared),
          position + v);
    store<run>(out + product.out(group, filter, place), 0, results);
  }
}
// `run`: pixels of a plane that are contiguous in `out`, aligned to as many elements.
template <int run, class Product, class From, class Epilogue, class Phases = NoPhases>
StitchStatus finish_transposed(const char* name, Product product, const From* image,
                               typename Product::Out* out, Epilogue epilogue, int samples, int pixels,
                               cudaStream_t stream, Phases phases = {}) {
  constexpr int channels = static_cast<int>(int64_t{Product::batches} * Product::rows);
  using Tile = PlanesTile<From, channels>;
  const Geometry geometry{
      blocks_of(samples * divide_up(channels, Tile::channels) * divide_up(pixels, Tile::pixels)),
      image_threads};
  const bool aligned = reinterpret_cast<uintptr_t>(out) % (run * sizeof(typename Product::Out)) == 0;
  auto finish = [&](auto where) {
    using Where = decltype(where);
    return launch(name,
                  aligned ? finish_transposed_kernel<Product, run, Where, From, Epilogue>
                          : finish_transposed_kernel<Product, 1, Where, From, Epilogue>,
                  geometry, stream, image, out, epilogue, pixels, where, product);
  };
  if constexpr (std::is_same_v<Phases, NoPhases>)
    return finish(InOrder<channels>{pixels});
  else
    return finish(InPhases<Phases>{phases});
}

}  // namespace stitch
