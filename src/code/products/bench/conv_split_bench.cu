// How fast and how exact convolutions over few channels are on this GPU by kernels/conv_split_halo.h.
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -I src/program/include
//        src/code/products/bench/conv_split_bench.cu -o conv_split_bench
//   ./conv_split_bench [part of a shape's name]
// Times are medians of cold calls (L2 flushed) in milliseconds, by CUDA events, with a bias and a ReLU. The
// error is relative L2 against float64 over 65536 sampled outputs, of normal inputs and of inputs uniform in
// [0, 1). TFLOP/s counts the convolution once; "written" is the result's bytes over the time.
#include <cmath>
#include <cstring>
#include <string>

#include "measure.h"
#include "stitch/kernels/conv_split_halo.h"

namespace {

// A dense convolution, stride 1, no padding.
template <int samples_, int channels_, int z, int y, int x, int filters_, int kz, int ky, int kx, int dx = 1>
struct Shape {
  static constexpr int samples = samples_, channels = channels_, filters = filters_;
  static constexpr int size_in_z = z, size_in_y = y, size_in_x = x;
  static constexpr int kernel_z = kz, kernel_y = ky, kernel_x = kx, taps = kz * ky * kx;
  static constexpr int size_out_z = z - kz + 1, size_out_y = y - ky + 1, size_out_x = x - (kx - 1) * dx;
  static constexpr int stride_z = 1, stride_y = 1, stride_x = 1, dilation_z = 1, dilation_y = 1,
                       dilation_x = dx;
  static constexpr int padding_z = 0, padding_y = 0, padding_x = 0;
  static constexpr int64_t positions = int64_t{size_out_z} * size_out_y * size_out_x;
  static constexpr int64_t x_stride_x = 1, x_stride_y = x, x_stride_z = int64_t{y} * x;
  static constexpr int64_t x_stride_channel = z * x_stride_z, x_stride_sample = channels * x_stride_channel;
  static constexpr int64_t out_stride_x = 1, out_stride_y = size_out_x,
                           out_stride_z = int64_t{size_out_y} * size_out_x;
  static constexpr int64_t out_stride_channel = positions, out_stride_sample = filters * positions;
  static constexpr int64_t x_offset = 0, out_offset = 0;
  static constexpr int64_t x_elements = samples * x_stride_sample, out_elements = samples * out_stride_sample;
};

// What the kernel asks of a product.
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
  static_assert(G::out_elements < (int64_t{1} << 31));
  __device__ float operator()(float value, int position) const {
    value += bias[position / static_cast<int>(G::positions) % G::filters];
    return value < 0 ? 0.0f : value;
  }
};

// What a convolution in float64 says of an output drawn by lot.
template <class G>
__global__ void compare(const float* x, const float* weight, const float* bias, const float* result,
                        double* sums) {
  const uint64_t lot = blockIdx.x * blockDim.x + threadIdx.x;
  const auto at = static_cast<int64_t>(mixed(lot + 77) % static_cast<uint64_t>(G::out_elements));
  const int64_t out_x = at % G::size_out_x, out_y = at / G::size_out_x % G::size_out_y;
  const int64_t out_z = at / G::out_stride_z % G::size_out_z;
  const int64_t filter = at / G::positions % G::filters, sample = at / G::out_stride_sample;
  double exact = bias[filter];
  for (int c = 0; c < G::channels; ++c)
    for (int z = 0; z < G::kernel_z; ++z)
      for (int y = 0; y < G::kernel_y; ++y)
        for (int k = 0; k < G::kernel_x; ++k)
          exact += static_cast<double>(
                       x[sample * G::x_stride_sample + c * G::x_stride_channel + (out_z + z) * G::x_stride_z +
                         (out_y + y) * G::x_stride_y + out_x + k * G::dilation_x]) *
                   weight[((filter * G::channels + c) * G::kernel_z + z) * (G::kernel_y * G::kernel_x) +
                          y * G::kernel_x + k];
  exact = exact < 0 ? 0 : exact;
  const double difference = result[at] - exact;
  atomicAdd(&sums[0], difference * difference);
  atomicAdd(&sums[1], exact * exact);
}

std::vector<std::string> table;

template <class G>
void measure(const char* name, const char* only) {
  if (!std::strstr(name, only)) return;
  using P = Product<G>;
  using Epilogue = BiasRelu<G>;
  constexpr int64_t weights = int64_t{G::filters} * G::channels * G::taps;
  Buffer<float> x(G::x_elements), weight(weights), bias(G::filters), result(G::out_elements);
  Buffer<__half> packed(HaloTile<G>::packed);
  Buffer<double> sums(2);
  const float scale = 1.0f / std::sqrt(static_cast<float>(G::channels * G::taps));
  auto run = [&] {
    OK((enqueue_conv_split_halo<P, G, true>("conv", x.data, packed.data, result.data, Epilogue{bias.data},
                                            nullptr)));
  };
  double errors[2];
  for (bool normal : {false, true}) {
    draw<<<2048, 256>>>(x.data, G::x_elements, 1, normal, 1.0f);
    draw<<<64, 256>>>(weight.data, weights, 12345678901, true, scale);
    draw<<<1, 256>>>(bias.data, G::filters, 5678901, true, scale);
    OK((pack_split_halo<P, G>(weight.data, packed.data, nullptr)));
    run();
    CUDA(cudaMemset(sums.data, 0, 2 * sizeof(double)));
    compare<G><<<256, 256>>>(x.data, weight.data, bias.data, result.data, sums.data);
    double host[2];
    CUDA(cudaMemcpy(host, sums.data, sizeof host, cudaMemcpyDeviceToHost));
    errors[normal] = std::sqrt(host[0] / host[1]);
  }
  const double time = time_of(run), operations = 2.0 * G::out_elements * G::channels * G::taps;
  int blocks = 0;
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, conv_split_halo_kernel<P, G, true, Epilogue>));
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, conv_split_halo_kernel<P, G, true, Epilogue>,
                                                     HaloTile<G>::threads, HaloTile<G>::shared_bytes));
  char line[256];
  std::snprintf(line, sizeof line,
                "%-8s %8.3f ms  %6.1f TFLOP/s  %5.2f TB/s written  %.1e normal  %.1e uniform  "
                "%d registers, %d KB shared, %d blocks",
                name, time, operations / time / 1e9, 4.0 * G::out_elements / time / 1e9, errors[1], errors[0],
                attributes.numRegs, HaloTile<G>::shared_bytes / 1024, blocks);
  std::printf("%s\n", line);
  std::fflush(stdout);
  table.emplace_back(line);
}

}  // namespace

int main(int count, char** arguments) {
  const char* only = count > 1 ? arguments[1] : "";
  // Named for KernelBench's level and task.
  measure<Shape<128, 8, 1, 128, 128, 64, 1, 3, 3>>("L2-57", only);
  measure<Shape<128, 8, 1, 256, 256, 64, 1, 3, 3>>("L2-87", only);
  measure<Shape<128, 8, 1, 384, 384, 64, 1, 3, 3>>("L2-65", only);
  measure<Shape<128, 3, 16, 64, 64, 16, 3, 3, 3>>("L2-48", only);
  measure<Shape<1024, 3, 16, 32, 32, 16, 4, 4, 4>>("L2-27", only);
  measure<Shape<128, 8, 16, 64, 64, 64, 3, 3, 3>>("L2-90", only);
  measure<Shape<16, 3, 64, 64, 64, 64, 3, 3, 3>>("L1-54", only);
  measure<Shape<16, 3, 64, 64, 64, 64, 3, 5, 7>>("L1-60", only);
  measure<Shape<16, 3, 256, 256, 10, 64, 3, 3, 1>>("L1-59", only);
  measure<Shape<16, 3, 1, 256, 2560, 64, 1, 3, 3, 10>>("L1-59-joined", only);
  std::printf("\n");
  for (const std::string& line : table) std::printf("%s\n", line.c_str());
}
