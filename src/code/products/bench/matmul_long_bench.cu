// Times matmul.long at the size of KernelBench's product of depth 524288, with several numbers of segments,
// and holds elements against float64. From the repository's root:
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -I src/program/include
//     src/code/products/bench/matmul_long_bench.cu -o matmul_long_bench
//   ./matmul_long_bench
// Microseconds of cold calls (median), TB/s of both sides, TFLOP/s, relative error.
#include <cmath>

#include "measure.h"
#include "stitch/kernels/matmul_arrange.h"
#include "stitch/kernels/matmul_long.h"

template <int side_count, int depth_count, bool right_inside>
struct Product {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = side_count, columns = side_count, depth = depth_count;
  static constexpr bool left_by_depth = true, right_by_depth = right_inside, has_right = true, padded = false;
  __host__ __device__ static Index left(Index, Index row, Index k) { return row * depth + k; }
  __host__ __device__ static Index right(Index, Index k, Index column) {
    return right_inside ? column * depth + k : k * columns + column;
  }
  __host__ __device__ static Index out(Index, Index row, Index column) { return row * columns + column; }
  __host__ __device__ static Index position(Index, Index row, Index column) { return row * columns + column; }
};
template <int64_t length>
struct Segments {
  static constexpr int64_t segment = length;
  static constexpr bool left_quads = true, right_quads = true;
};

template <class P>
__global__ void check(const float* left, const float* right, const float* out, double* wrong, double* norm) {
  __shared__ double sums[256];
  const int row = blockIdx.x * 131 % P::rows, column = blockIdx.x * 97 % P::columns;
  double sum = 0;
  for (int k = threadIdx.x; k < P::depth; k += 256)
    sum += static_cast<double>(left[P::left(0, row, k)]) * right[P::right(0, k, column)];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0;
  for (double each : sums) sum += each;
  const double difference = out[P::out(0, row, column)] - sum;
  atomicAdd(wrong, difference * difference);
  atomicAdd(norm, sum * sum);
}

template <class P, int64_t length>
void time_segments(bool normal) {
  using T = Segments<length>;
  using S = LongSums<P, T>;
  constexpr int64_t each = int64_t{P::rows} * P::depth, results = int64_t{P::rows} * P::columns;
  Buffer<float> left(each), right(each), out(results), partials(S::segments * results);
  Buffer<double> sums(2);
  draw<<<1024, 256>>>(left.data, each, 1, normal, 1.0f);
  draw<<<1024, 256>>>(right.data, each, 7777, normal, 1.0f);
  const auto multiply = [&] {
    OK((enqueue_long_sums<P, T>("long", left.data, right.data, partials.data, nullptr)));
  };
  const auto finish = [&] {
    OK((finish_product<P, static_cast<int>(S::segments), P::columns, true>("finish", partials.data, out.data,
                                                                           NoEpilogue{}, nullptr)));
  };
  const double time = time_of(multiply), finished = time_of(finish);
  CUDA(cudaMemset(sums.data, 0, 16));
  check<P><<<512, 256>>>(left.data, right.data, out.data, sums.data, sums.data + 1);
  double found[2];
  CUDA(cudaMemcpy(found, sums.data, 16, cudaMemcpyDefault));
  std::printf(
      "%d x %d x %d right %s, %3d segments: %7.1f us %5.2f TB/s %6.1f TFLOP/s, finish %5.1f us, error %.1e\n",
      P::rows, P::columns, P::depth, P::right_by_depth ? "by depth" : "by side ",
      static_cast<int>(S::segments), time * 1e3, 8.0 * each / time / 1e9,
      2.0 * each * P::columns / time / 1e9, finished * 1e3, std::sqrt(found[0] / found[1]));
  std::fflush(stdout);
}

int main() {
  using Deep = Product<256, 524288, false>;
  time_segments<Deep, 15904>(false);
  time_segments<Deep, 15904>(true);
  time_segments<Deep, 7968>(false);
  time_segments<Deep, 31776>(false);
  using Rows = Product<128, 131072, true>;
  time_segments<Rows, 1024>(true);
}
