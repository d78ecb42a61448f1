// Convolutions over few channels, and in fp16, by kernels/conv_implicit.h and kernels/conv_split_halo.h, with
// a bias and a ReLU (measure.h has the command). TFLOP/s counts the convolution once; "moved" is the image's
// and the result's bytes over the time; the error is of normal inputs and weights.
#include "measure.h"
#include "stitch/kernels/conv_implicit.h"
#include "stitch/kernels/conv_split_halo.h"

namespace {

// A dense convolution without padding, and the tile that makes it; `up`: transposed, with that stride.
template <int samples_, int channels_, int z, int y, int x, int filters_, int kz, int ky, int kx, int tile_z_,
          int tile_y_, int tile_x_, int up = 1, int stride = 1, int dilation = 1>
struct Shape {
  using In = float;
  using Weight = float;
  using Out = float;
  static constexpr int samples = samples_, channels = channels_, filters = filters_;
  static constexpr int octets = channels > 4 ? (channels + 7) / 8 : 1, chunk = octets > 8 ? 8 : octets;
  static constexpr int tile_z = tile_z_, tile_y = tile_y_, tile_x = tile_x_;
  static constexpr int pool_y = 1, pool_x = 1;
  static constexpr bool pool_max = false;
  static constexpr bool transposed = up > 1, packs_out = false, scatters = false;
  static constexpr int size_in_z = z, size_in_y = y, size_in_x = x;
  static constexpr int weights_z = kz, weights_y = ky, weights_x = kx, taps = kz * ky * kx;
  static constexpr int phases_z = z > 1 ? up : 1, phases_y = y > 1 ? up : 1, phases_x = up;
  static constexpr int kernel_z = (kz + phases_z - 1) / phases_z, kernel_y = (ky + phases_y - 1) / phases_y,
                       kernel_x = (kx + phases_x - 1) / phases_x;
  static constexpr int stride_z = 1, stride_y = 1, stride_x = stride;
  static constexpr int dilation_z = 1, dilation_y = 1, dilation_x = dilation;
  static constexpr int padding_z = transposed ? kernel_z - 1 : 0, padding_y = transposed ? kernel_y - 1 : 0,
                       padding_x = transposed ? kernel_x - 1 : 0;
  static constexpr int result_z = transposed ? (z - 1) * phases_z + kz : z - kz + 1,
                       result_y = transposed ? (y - 1) * phases_y + ky : y - ky + 1,
                       result_x =
                           transposed ? (x - 1) * phases_x + kx : (x - (kx - 1) * dilation - 1) / stride + 1;
  static constexpr int size_out_z = (result_z + phases_z - 1) / phases_z,
                       size_out_y = (result_y + phases_y - 1) / phases_y,
                       size_out_x = (result_x + phases_x - 1) / phases_x;
  static constexpr int before_z = 0, before_y = 0, before_x = 0;
  static constexpr int64_t positions = int64_t{result_z} * result_y * result_x;
  static constexpr int64_t x_stride_x = 1, x_stride_y = x, x_stride_z = int64_t{y} * x;
  static constexpr int64_t x_stride_channel = z * x_stride_z, x_stride_sample = channels * x_stride_channel;
  static constexpr int64_t out_stride_x = 1, out_stride_y = result_x,
                           out_stride_z = int64_t{result_y} * result_x;
  static constexpr int64_t out_stride_channel = positions, out_stride_sample = filters * positions;
  // (filters, channels, taps), for transposed ones, too.
  static constexpr int64_t weight_stride_x = 1, weight_stride_y = kx, weight_stride_z = ky * kx,
                           weight_stride_channel = taps, weight_stride_filter = channels * taps;
  static constexpr int64_t x_offset = 0, out_offset = 0, weight_offset = 0;
  static constexpr int64_t x_elements = samples * x_stride_sample, out_elements = samples * out_stride_sample;
  __device__ static int64_t scattered(int64_t at) { return at; }
};

// What the kernel with a halo asks of a product.
template <class G>
struct Product {
  using Left = float;
  using Right = float;
  using Out = float;
  using Index = std::conditional_t<(G::out_elements < (int64_t{1} << 30)), int, int64_t>;
  static constexpr bool right_by_depth = false;
  __device__ static Index left(Index, Index row, Index k) { return row * (G::channels * G::taps) + k; }
};

template <class G>
struct BiasRelu {
  const float* bias;
  __device__ float operator()(float value, int, int channel, int) const {
    value += bias[channel];
    return value < 0 ? 0.0f : value;
  }
  __device__ float operator()(float value, int64_t position) const {
    value += bias[position / G::positions % G::filters];
    return value < 0 ? 0.0f : value;
  }
};

template <class G>
struct Exact {
  const float *x, *weight, *bias;
  __device__ double operator()(int64_t at) const {
    const int out_x = static_cast<int>(at % G::result_x),
              out_y = static_cast<int>(at / G::result_x % G::result_y),
              out_z = static_cast<int>(at / G::out_stride_z % G::result_z);
    const int64_t filter = at / G::positions % G::filters, sample = at / G::out_stride_sample;
    double exact = bias[filter];
    for (int z = 0; z < G::weights_z; ++z)
      for (int y = 0; y < G::weights_y; ++y)
        for (int k = 0; k < G::weights_x; ++k) {
          int in_z = out_z + z, in_y = out_y + y, in_x = out_x * G::stride_x + k * G::dilation_x;
          if (G::transposed) {
            in_z = out_z - z, in_y = out_y - y, in_x = out_x - k;
            if (in_z % G::phases_z || in_y % G::phases_y || in_x % G::phases_x) continue;
            in_z /= G::phases_z, in_y /= G::phases_y, in_x /= G::phases_x;
          }
          if (in_z < 0 || in_z >= G::size_in_z || in_y < 0 || in_y >= G::size_in_y || in_x < 0 ||
              in_x >= G::size_in_x)
            continue;
          for (int c = 0; c < G::channels; ++c)
            exact += static_cast<double>(x[sample * G::x_stride_sample + c * G::x_stride_channel +
                                           in_z * G::x_stride_z + in_y * G::x_stride_y + in_x]) *
                     weight[filter * G::weight_stride_filter + c * G::taps + z * G::weight_stride_z +
                            y * G::weights_x + k];
        }
    return exact < 0 ? 0 : exact;
  }
};

enum class Kernel { halo, exact, half };

template <class G, Kernel kernel>
void measure(const char* name) {
  if (!wanted(name)) return;
  using P = Product<G>;
  using Epilogue = BiasRelu<G>;
  constexpr bool exact = kernel == Kernel::exact;
  using Tile = ImplicitTile<G, exact>;
  constexpr int64_t weights = int64_t{G::filters} * G::channels * G::taps;
  Buffer<float> x(G::x_elements), weight(weights), bias(G::filters), result(G::out_elements);
  Buffer<__half> packed(Tile::packed + HaloTile<G>::packed);
  const float scale = 1.0f / std::sqrt(static_cast<float>(G::channels * G::taps));
  draw<<<2048, 256>>>(x.data, G::x_elements, 1, true, 1.0f);
  draw<<<64, 256>>>(weight.data, weights, 12345678901, true, scale);
  draw<<<1, 256>>>(bias.data, G::filters, 5678901, true, scale);
  CUDA(cudaMemset(result.data, 0xFF, static_cast<size_t>(G::out_elements) * 4));
  auto run = [&] {
    if constexpr (kernel == Kernel::halo)
      OK((enqueue_conv_split_halo<P, G, true>("conv", x.data, packed.data, result.data, Epilogue{bias.data},
                                              nullptr)));
    else
      OK((enqueue_conv_implicit<G, exact>("conv", x.data, packed.data, result.data, Epilogue{bias.data},
                                          nullptr)));
  };
  if constexpr (kernel == Kernel::halo)
    OK((pack_split_halo<P, G>(weight.data, packed.data, nullptr)));
  else
    OK((pack_implicit<G, exact>(weight.data, packed.data, nullptr)));
  run();
  const Residency residency = [] {
    if constexpr (kernel == Kernel::halo)
      return Residency(conv_split_halo_kernel<P, G, true, Epilogue>, HaloTile<G>::threads,
                       HaloTile<G>::shared_bytes);
    else
      return Residency(conv_implicit_kernel<G, exact, false, Epilogue>, Tile::threads, Tile::shared_bytes);
  }();
  constexpr int shared = kernel == Kernel::halo ? HaloTile<G>::shared_bytes : Tile::shared_bytes;
  const double error = error_of(result.data, G::out_elements, Exact<G>{x.data, weight.data, bias.data});
  const double time = time_of(run);
  const double operations = 2.0 * G::channels * G::taps * G::filters * G::samples *
                            (G::transposed ? double{G::size_in_z} * G::size_in_y * G::size_in_x
                                           : static_cast<double>(G::positions));
  constexpr const char* names[] = {"halo", "exact", "half"};
  say("%-12s %-5s %8.3f ms  %6.1f TFLOP/s  %5.2f TB/s moved  error %.1e  %d registers, %d KB shared, %d "
      "blocks\n",
      name, names[static_cast<int>(kernel)], time, operations / time / 1e9,
      4.0 * static_cast<double>(G::out_elements + G::x_elements) / time / 1e9, error, residency.registers,
      shared / 1024, residency.blocks);
}

struct L3_6 : Shape<10, 480, 1, 224, 224, 192, 1, 1, 1, 1, 4, 32> {
  static constexpr int chunk = 4;
};

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) only = arguments[1];
  // Named for KernelBench's level and task, and the tile.
  using L2_57 = Shape<128, 8, 1, 128, 128, 64, 1, 3, 3, 1, 8, 32>;
  measure<L2_57, Kernel::halo>("L2-57");
  measure<L2_57, Kernel::exact>("L2-57");
  measure<Shape<128, 8, 1, 128, 128, 64, 1, 3, 3, 1, 4, 64>, Kernel::exact>("L2-57-4x64");
  using L2_48 = Shape<128, 3, 16, 64, 64, 16, 3, 3, 3, 2, 4, 32>;
  measure<L2_48, Kernel::halo>("L2-48");
  measure<L2_48, Kernel::exact>("L2-48");
  measure<Shape<128, 8, 1, 256, 256, 64, 1, 3, 3, 1, 8, 32>, Kernel::halo>("L2-87");
  measure<Shape<128, 8, 1, 384, 384, 64, 1, 3, 3, 1, 8, 32>, Kernel::halo>("L2-65");
  measure<Shape<1024, 3, 16, 32, 32, 16, 4, 4, 4, 2, 4, 32>, Kernel::halo>("L2-27");
  measure<Shape<128, 8, 16, 64, 64, 64, 3, 3, 3, 2, 4, 32>, Kernel::halo>("L2-90");
  measure<Shape<16, 3, 64, 64, 64, 64, 3, 3, 3, 2, 4, 32>, Kernel::halo>("L1-54");
  measure<Shape<16, 3, 64, 64, 64, 64, 3, 5, 7, 2, 4, 32>, Kernel::halo>("L1-60");
  measure<Shape<16, 3, 256, 256, 10, 64, 3, 3, 1, 2, 4, 32>, Kernel::halo>("L1-59");
  measure<Shape<16, 3, 1, 256, 2560, 64, 1, 3, 3, 1, 8, 32, 1, 1, 10>, Kernel::halo>("L1-59-joined");
  measure<Shape<64, 8, 32, 64, 64, 32, 3, 3, 3, 2, 4, 32>, Kernel::half>("L2-7");
  measure<Shape<128, 64, 1, 128, 128, 128, 1, 3, 3, 1, 4, 32>, Kernel::half>("L2-1");
  measure<Shape<128, 64, 1, 128, 128, 128, 1, 3, 3, 1, 8, 16>, Kernel::half>("L2-1-8x16");
  measure<Shape<64, 64, 1, 256, 256, 64, 1, 3, 3, 1, 8, 32>, Kernel::half>("L2-54");
  measure<Shape<128, 64, 1, 128, 128, 64, 1, 3, 3, 1, 8, 32, 2>, Kernel::half>("L2-2");
  measure<Shape<128, 64, 1, 64, 64, 128, 1, 4, 4, 1, 4, 32, 2>, Kernel::half>("L2-93");
  measure<Shape<16, 16, 32, 128, 128, 64, 3, 3, 3, 2, 4, 32>, Kernel::half>("L2-13");
  measure<Shape<4, 16, 1, 1024, 1024, 128, 1, 3, 3, 1, 4, 32>, Kernel::half>("L1-63");
  measure<Shape<32, 64, 1, 1, 131072, 128, 1, 1, 3, 1, 1, 128>, Kernel::half>("L1-67");
  measure<Shape<16, 64, 1, 1, 524280, 128, 1, 1, 3, 1, 1, 128, 1, 3, 4>, Kernel::half>("L1-76");
  measure<L3_6, Kernel::half>("L3-6");
}
