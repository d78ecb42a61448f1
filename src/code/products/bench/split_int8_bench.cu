// Times the parts of matmul.split_int8 and matmul.split_half's deep form, and checks elements against
// float64; then with rows for which int8 is too coarse, and with triangular matrices. From the repository's
// root:
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -I src/program/include
//     src/code/products/bench/split_int8_bench.cu -lcublasLt -o split_int8_bench
//   ./split_int8_bench
// Microseconds of cold calls (median) and relative error.
#include <cmath>

#include "measure.h"
#include "stitch/kernels/split_half.h"
#include "stitch/kernels/split_int8.h"
#include "stitch/runtime/cublaslt.h"

template <int row_count, int column_count, int depth_count, bool right_inside>
struct Product {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = row_count, columns = column_count, depth = depth_count;
  static constexpr bool left_by_depth = true, right_by_depth = right_inside, has_right = true, padded = false;
  __host__ __device__ static Index left(Index, Index row, Index k) { return row * depth + k; }
  __host__ __device__ static Index right(Index, Index k, Index column) {
    return right_inside ? column * depth + k : k * columns + column;
  }
  __host__ __device__ static Index out(Index, Index row, Index column) { return row * columns + column; }
  __host__ __device__ static Index position(Index, Index row, Index column) { return row * columns + column; }
};

__global__ void plant(float* x, int64_t count, int64_t every, float value) {
  const int64_t i = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * every;
  if (i < count) x[i] = value;
}
// What lies below the diagonal of (rows, depth).
__global__ void clear_below(float* x, int64_t count, int depth) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count && i % depth < i / depth) x[i] = 0.0f;
}
// One element a block, in float64.
template <class P>
__global__ void check(const float* left, const float* right, const float* out, double* wrong, double* norm) {
  __shared__ double sums[256];
  const int row = blockIdx.x * 131 % P::rows, column = blockIdx.x * 977 % P::columns;
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

template <class P>
void time_product(CublasLt& library, bool normal_right) {
  using L = Int8Operand<P, true, true>;
  using R = Int8Operand<P, false, P::right_by_depth>;
  constexpr int64_t results = int64_t{P::rows} * P::columns;
  Buffer<float> left(int64_t{P::rows} * P::depth), right(int64_t{P::columns} * P::depth), out(results),
      dense(2 * results);
  Buffer<__half> left_split(L::elements), right_split(R::elements);
  Buffer<double> sums(2);
  draw<<<1024, 256>>>(left.data, int64_t{P::rows} * P::depth, 1, true, 1.0f);
  draw<<<1024, 256>>>(right.data, int64_t{P::columns} * P::depth, 7777, normal_right, 0.03f);
  const auto error = [&] {
    CUDA(cudaMemset(sums.data, 0, 16));
    check<P><<<4096, 256>>>(left.data, right.data, out.data, sums.data, sums.data + 1);
    double found[2];
    CUDA(cudaMemcpy(found, sums.data, 16, cudaMemcpyDefault));
    return std::sqrt(found[0] / found[1]);
  };
  Matmul small, first, next, short_first, short_next;
  constexpr int64_t chunk = L::depth > 4096 ? 4096 : L::depth, shorter = L::depth > 1024 ? 1024 : L::depth;
  MatmulSpec spec{P::rows, P::columns, 2 * L::depth};
  spec.right_transposed = true;
  spec.left_row_stride = spec.right_row_stride = 2 * L::depth;
  spec.type = CUDA_R_8I, spec.result_type = CUDA_R_32I, spec.compute = CUBLAS_COMPUTE_32I;
  OK(small.create(library, spec));
  spec = MatmulSpec{P::rows, P::columns, chunk};
  spec.right_transposed = true;
  spec.left_row_stride = spec.right_row_stride = L::depth;
  spec.type = CUDA_R_16F, spec.result_type = CUDA_R_32F;
  OK(first.create(library, spec));
  spec.accumulate = true;
  OK(next.create(library, spec));
  spec.depth = shorter, spec.accumulate = false;
  OK(short_first.create(library, spec));
  spec.accumulate = true;
  OK(short_next.create(library, spec));
  const auto split_left = [&] { OK((split_in_int8<L, true>(left.data, left_split.data, nullptr))); };
  const auto split_right = [&] { OK((split_in_int8<R, true>(right.data, right_split.data, nullptr))); };
  const auto small_terms = [&] {
    OK(small.enqueue(L::small(left_split.data), R::small(right_split.data), dense.data + results, nullptr));
  };
  const auto large_terms = [&] {
    for (int64_t at = 0; at < L::depth; at += chunk)
      OK((at ? next : first).enqueue(left_split.data + at, right_split.data + at, dense.data, nullptr));
  };
  const auto short_sums = [&] {
    for (int64_t at = 0; at < L::depth; at += shorter)
      OK((at ? short_next : short_first)
             .enqueue(left_split.data + at, right_split.data + at, dense.data, nullptr));
  };
  const auto finish = [&] {
    OK((finish_int8_product<P, L, R, P::columns, true>("finish", left_split.data, right_split.data,
                                                       dense.data, out.data, NoEpilogue{}, nullptr)));
  };
  const auto all = [&] { split_left(), small_terms(), large_terms(), finish(); };
  split_right();
  const double whole = time_of(all);
  std::printf("%5d x %5d x %5d right %s: all but the right split %7.1f us  error %.1e\n", P::rows, P::columns,
              P::depth, P::right_by_depth ? "by depth" : "by side", whole * 1e3, error());
  std::printf(
      "   split left %6.1f  right %6.1f  small terms %7.1f  large terms %7.1f (sums of 1024 %7.1f)  "
      "finish %6.1f\n",
      time_of(split_left) * 1e3, time_of(split_right) * 1e3, time_of(small_terms) * 1e3,
      time_of(large_terms) * 1e3, time_of(short_sums) * 1e3, time_of(finish) * 1e3);
  plant<<<1, 8>>>(left.data, int64_t{P::rows} * P::depth, int64_t{P::depth} * (P::rows / 8), 300.0f);
  const double some = time_of(all), some_error = error();
  plant<<<64, 256>>>(left.data, int64_t{P::rows} * P::depth, P::depth, 300.0f);
  const double every = time_of(all), every_error = error();
  std::printf("   outliers in 8 rows %7.1f us  error %.1e, in all %7.1f us  error %.1e\n", some * 1e3,
              some_error, every * 1e3, every_error);

  const int64_t lefts = int64_t{P::rows} * P::depth, rights = int64_t{P::columns} * P::depth;
  draw<<<1024, 256>>>(left.data, lefts, 1, true, 1.0f);
  clear_below<<<static_cast<unsigned>((lefts + 255) / 256), 256>>>(left.data, lefts, P::depth);
  const double triangular = time_of(all), triangular_error = error();
  std::printf("   left triangular %7.1f us  error %.1e\n", triangular * 1e3, triangular_error);

  if (rights > int64_t{1} << 28) return std::fflush(stdout), void();
  // matmul.split_half: one deep product of three parts.
  using DeepLeft = SplitOperand<P, true, true, 3, (P::depth > 2048 ? P::depth / 2 : P::depth), false>;
  Buffer<__half> deep_left(int64_t{3} * P::rows * P::depth), deep_right(int64_t{3} * P::columns * P::depth);
  Buffer<float> largest(most_split_blocks), scale(1);
  Buffer<SplitFactors> factors(1);
  CUDA(cudaMemset(deep_left.data, 0x11, int64_t{6} * P::rows * P::depth));
  CUDA(cudaMemset(deep_right.data, 0x11, int64_t{6} * P::columns * P::depth));
  Matmul deep;
  spec = MatmulSpec{P::rows, P::columns, 3 * P::depth};
  spec.right_transposed = true;
  spec.type = CUDA_R_16F, spec.result_type = CUDA_R_32F;
  OK(deep.create(library, spec));
  const double of_split = time_of([&] {
    OK((split_operand<DeepLeft, true, true>(left.data, deep_left.data, largest.data, scale.data, factors.data,
                                            1.0f, nullptr)));
  });
  const double of_product =
      time_of([&] { OK(deep.enqueue(deep_left.data, deep_right.data, out.data, nullptr)); });
  std::printf("   split_half: split left %6.1f  one deep product %7.1f us\n", of_split * 1e3,
              of_product * 1e3);
  std::fflush(stdout);
}

int main() {
  CublasLt library;
  OK(library.create());
  time_product<Product<1024, 8192, 8192, true>>(library, false);
  time_product<Product<128, 16384, 16384, true>>(library, false);
  time_product<Product<128, 32768, 32768, true>>(library, false);
  time_product<Product<4096, 4096, 4096, false>>(library, true);
  time_product<Product<2048, 4096, 8192, false>>(library, true);
  time_product<Product<1024, 1024, 1024, true>>(library, true);
  time_product<Product<16384, 4096, 1024, true>>(library, false);
}
