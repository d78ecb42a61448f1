// kernels/conv_transposed.h with a bias (measure.h has the command). The floor is what an H200 takes for the
// bytes at 4.29 TB/s or for the products at 51 TFLOP/s, whichever is longer. Tiles are those that the Coder
// chooses (conv_transposed.cpp), and others beside them; the error is of normal inputs.
#include "measure.h"
#include "stitch/kernels/conv_transposed.h"

namespace {

template <int in_, int out_, int kernel_, int stride_, int padding_, int dilation_>
struct Axis {
  static constexpr int in = in_, out = out_, kernel = kernel_, stride = stride_, padding = padding_,
                       dilation = dilation_;
};
using NoAxis = Axis<1, 1, 1, 1, 0, 1>;

// Dense tensors; channels and filters of a group.
template <int samples_, int groups_, int channels_, int filters_, class Z, class Y, class X>
struct Shape {
  using In = float;
  using Weight = float;
  using Out = float;
  using Index = int;
  static constexpr int samples = samples_, groups = groups_, channels = channels_, filters = filters_;
  static constexpr int size_in_z = Z::in, size_out_z = Z::out, kernel_z = Z::kernel;
  static constexpr int stride_z = Z::stride, padding_z = Z::padding, dilation_z = Z::dilation;
  static constexpr int size_in_y = Y::in, size_out_y = Y::out, kernel_y = Y::kernel;
  static constexpr int stride_y = Y::stride, padding_y = Y::padding, dilation_y = Y::dilation;
  static constexpr int size_in_x = X::in, size_out_x = X::out, kernel_x = X::kernel;
  static constexpr int stride_x = X::stride, padding_x = X::padding, dilation_x = X::dilation;
  static constexpr Index x_apart = Z::in * Y::in * X::in;
  static constexpr int64_t x_elements = int64_t{samples} * groups * channels * x_apart;
  static constexpr int64_t out_elements = int64_t{samples} * groups * filters * Z::out * Y::out * X::out;
  static constexpr int64_t weights = int64_t{groups} * channels * filters * kernel_z * kernel_y * kernel_x;
  static constexpr double products =
      static_cast<double>(x_elements) * filters * kernel_z * kernel_y * kernel_x;
  static_assert(x_elements < (int64_t{1} << 31) && out_elements < (int64_t{1} << 31));
  __host__ __device__ static Index x(Index n, Index channel, Index z, Index y, Index x) {
    return (((n * groups * channels + channel) * Z::in + z) * Y::in + y) * X::in + x;
  }
  __host__ __device__ static Index weight(Index channel, Index filter, Index z, Index y, Index x) {
    return (((channel * filters + filter) * kernel_z + z) * kernel_y + y) * kernel_x + x;
  }
  __host__ __device__ static Index out(Index n, Index filter, Index z, Index y, Index x) {
    return (((n * groups * filters + filter) * Z::out + z) * Y::out + y) * X::out + x;
  }
  __host__ __device__ static Index position(Index n, Index filter, Index z, Index y, Index x) {
    return out(n, filter, z, y, x);
  }
};

template <class Shape, int z, int y, int x, int chunk_, int each_, int own_, int cells, int filter_warps_>
struct Tiled : Shape {
  static constexpr int cells_z = z, cells_y = y, cells_x = x, chunk = chunk_;
  static constexpr int each = each_, own = own_, cell_warps = cells, filter_warps = filter_warps_;
};

// The input that a tap brings to an output along one axis; -1: none.
__device__ int input_of(int out, int tap, int size, int stride, int padding, int dilation) {
  const int at = out + padding - tap * dilation;
  return at < 0 || at % stride != 0 || at / stride >= size ? -1 : at / stride;
}

template <class G>
struct Exact {
  const float *x, *weight, *bias;
  __device__ double operator()(int64_t place) const {
    const int at = static_cast<int>(place);
    const int out_x = at % G::size_out_x, out_y = at / G::size_out_x % G::size_out_y,
              out_z = at / (G::size_out_x * G::size_out_y) % G::size_out_z;
    const int filter = at / (G::size_out_x * G::size_out_y * G::size_out_z) % (G::groups * G::filters);
    const int n = static_cast<int>(at / (G::out_elements / G::samples)), group = filter / G::filters;
    double exact = bias[filter];
    for (int c = group * G::channels; c < (group + 1) * G::channels; ++c)
      for (int kz = 0; kz < G::kernel_z; ++kz)
        for (int ky = 0; ky < G::kernel_y; ++ky)
          for (int kx = 0; kx < G::kernel_x; ++kx) {
            const int z = input_of(out_z, kz, G::size_in_z, G::stride_z, G::padding_z, G::dilation_z);
            const int y = input_of(out_y, ky, G::size_in_y, G::stride_y, G::padding_y, G::dilation_y);
            const int at_x = input_of(out_x, kx, G::size_in_x, G::stride_x, G::padding_x, G::dilation_x);
            if (z < 0 || y < 0 || at_x < 0) continue;
            exact += static_cast<double>(x[G::x(n, c, z, y, at_x)]) *
                     weight[G::weight(c, filter % G::filters, kz, ky, kx)];
          }
    return exact;
  }
};

template <class S>
void measure(const char* name) {
  if (!wanted(name)) return;
  using T = TransposedTile<S>;
  Buffer<float> x(S::x_elements), weight(S::weights), bias(S::groups * S::filters), result(S::out_elements),
      packed(T::packed);
  const float scale = 1.0f / std::sqrt(static_cast<float>(S::products / S::out_elements));
  draw<<<2048, 256>>>(x.data, S::x_elements, 1, true, 1.0f);
  draw<<<64, 256>>>(weight.data, S::weights, 12345678901, true, scale);
  draw<<<1, 256>>>(bias.data, S::groups * S::filters, 5678901, true, scale);
  OK(pack_transposed<S>(weight.data, packed.data, nullptr));
  auto run = [&] {
    OK(enqueue_conv_transposed<S>("conv", x.data, packed.data, bias.data, result.data, NoEpilogue{},
                                  nullptr));
  };
  run();
  const double error = error_of(result.data, S::out_elements, Exact<S>{x.data, weight.data, bias.data});
  const double time = time_of(run), bytes = 4.0 * (S::x_elements + S::out_elements);
  const double floor = std::max(bytes / 4.29e9, 2 * S::products / 51e9);
  const Residency residency(conv_transposed_kernel<S, NoEpilogue>, T::threads, T::shared * sizeof(float));
  say("%-12s %7.3f ms  %5.1f TFLOP/s  %5.2f TB/s  %3.0f%% of the floor %.3f ms  error %.1e  "
      "%d registers, %d KB shared, %d blocks of %d\n",
      name, time, 2 * S::products / time / 1e9, bytes / time / 1e9, 100 * floor / time, floor, error,
      residency.registers, static_cast<int>(T::shared * sizeof(float) / 1024), residency.blocks, T::threads);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) only = arguments[1];
  // Named for KernelBench's level and task.
  using L2_58 =
      Shape<128, 1, 3, 16, Axis<16, 31, 3, 2, 1, 1>, Axis<32, 63, 3, 2, 1, 1>, Axis<32, 63, 3, 2, 1, 1>>;
  using L2_78 =
      Shape<16, 1, 32, 64, Axis<32, 63, 5, 2, 2, 1>, Axis<32, 63, 5, 2, 2, 1>, Axis<32, 63, 5, 2, 2, 1>>;
  using L1_72 =
      Shape<8, 4, 8, 8, Axis<12, 24, 3, 2, 1, 1>, Axis<24, 48, 5, 2, 2, 1>, Axis<48, 96, 7, 2, 3, 1>>;
  using L1_75 = Shape<16, 4, 8, 16, NoAxis, Axis<128, 257, 3, 2, 1, 2>, Axis<256, 766, 5, 3, 2, 1>>;
  using L1_79 = Shape<16, 1, 32, 64, NoAxis, NoAxis, Axis<131072, 262145, 3, 2, 1, 2>>;
  using L1_81 = Shape<16, 1, 32, 64, NoAxis, Axis<64, 318, 3, 5, 1, 2>, Axis<128, 638, 3, 5, 1, 2>>;
  // cells z, y, x, chunk of channels, fours and filters of a thread, warps for cells and for filters
  measure<Tiled<L2_58, 4, 2, 32, 3, 1, 8, 2, 2>>("L2-58");
  measure<Tiled<L2_58, 4, 2, 32, 3, 2, 4, 1, 4>>("L2-58 wide");
  measure<Tiled<L2_78, 4, 2, 32, 5, 2, 4, 1, 8>>("L2-78");
  measure<Tiled<L2_78, 4, 2, 32, 5, 1, 8, 2, 4>>("L2-78 deep");
  measure<Tiled<L1_72, 3, 3, 52, 8, 2, 4, 2, 2>>("L1-72");
  measure<Tiled<L1_72, 3, 3, 52, 4, 1, 8, 4, 1>>("L1-72 deep");
  measure<Tiled<L1_75, 1, 4, 64, 8, 2, 4, 1, 4>>("L1-75");
  measure<Tiled<L1_75, 1, 2, 64, 8, 1, 4, 1, 4>>("L1-75 small");
  measure<Tiled<L1_79, 1, 1, 256, 32, 2, 4, 1, 8>>("L1-79");
  measure<Tiled<L1_81, 1, 1, 128, 32, 1, 4, 1, 4>>("L1-81");
}
