// The parts of matmul.split_int8 and matmul.split_half's deep form; then with rows for which int8 is too
// coarse, and with triangular matrices (measure.h has the command). Microseconds and relative error.
#include "measure.h"
#include "stitch/kernels/split_half.h"
#include "stitch/kernels/split_int8.h"
#include "stitch/runtime/cublaslt.h"

constexpr stitch::SplitBlocks h200_blocks{792, 132};

__global__ void plant(float* x, int64_t count, int64_t every, float value) {
  const int64_t i = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * every;
  if (i < count) x[i] = value;
}
// What lies below the diagonal of (rows, depth).
__global__ void clear_below(float* x, int64_t count, int depth) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count && i % depth < i / depth) x[i] = 0.0f;
}
template <class P>
void time_product(CublasLt& library, bool normal_right) {
  using L = Int8Operand<P, true, true>;
  using R = Int8Operand<P, false, P::right_by_depth>;
  constexpr int64_t results = P::out_elements;
  Buffer<float> left(P::left_elements), right(P::right_elements), out(results), dense(2 * results);
  Buffer<__half> left_split(L::elements), right_split(R::elements);
  draw<<<1024, 256>>>(left.data, P::left_elements, 1, true, 1.0f);
  draw<<<1024, 256>>>(right.data, P::right_elements, 7777, normal_right, 0.03f);
  const auto error = [&] { return error_of_product<P>(left.data, right.data, out.data); };
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
  say("%5d x %5d x %5d right %s: all but the right split %7.1f us  error %.1e\n", P::rows, P::columns,
      P::depth, P::right_by_depth ? "by depth" : "by side", whole * 1e3, error());
  say("   split left %6.1f  right %6.1f  small terms %7.1f  large terms %7.1f (sums of 1024 %7.1f)  "
      "finish %6.1f\n",
      time_of(split_left) * 1e3, time_of(split_right) * 1e3, time_of(small_terms) * 1e3,
      time_of(large_terms) * 1e3, time_of(short_sums) * 1e3, time_of(finish) * 1e3);
  plant<<<1, 8>>>(left.data, P::left_elements, int64_t{P::depth} * (P::rows / 8), 300.0f);
  const double some = time_of(all), some_error = error();
  plant<<<64, 256>>>(left.data, P::left_elements, P::depth, 300.0f);
  const double every = time_of(all), every_error = error();
  say("   outliers in 8 rows %7.1f us  error %.1e, in all %7.1f us  error %.1e\n", some * 1e3, some_error,
      every * 1e3, every_error);

  draw<<<1024, 256>>>(left.data, P::left_elements, 1, true, 1.0f);
  clear_below<<<static_cast<unsigned>((P::left_elements + 255) / 256), 256>>>(left.data, P::left_elements,
                                                                              P::depth);
  const double triangular = time_of(all), triangular_error = error();
  say("   left triangular %7.1f us  error %.1e\n", triangular * 1e3, triangular_error);

  if (P::right_elements > int64_t{1} << 28) return;
  // matmul.split_half: one deep product of three parts.
  using DeepLeft = SplitOperand<P, true, true, 3, (P::depth > 2048 ? P::depth / 2 : P::depth), false>;
  Buffer<__half> deep_left(int64_t{3} * P::rows * P::depth), deep_right(int64_t{3} * P::columns * P::depth);
  Buffer<float> largest(h200_blocks.splitting), scale(1);
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
                                            1.0f, h200_blocks, nullptr)));
  });
  const double of_product =
      time_of([&] { OK(deep.enqueue(deep_left.data, deep_right.data, out.data, nullptr)); });
  say("   split_half: split left %6.1f  one deep product %7.1f us\n", of_split * 1e3, of_product * 1e3);
}

int main() {
  CublasLt library;
  OK(library.create());
  time_product<DenseProduct<1, 1024, 8192, 8192, true>>(library, false);
  time_product<DenseProduct<1, 128, 16384, 16384, true>>(library, false);
  time_product<DenseProduct<1, 128, 32768, 32768, true>>(library, false);
  time_product<DenseProduct<1, 4096, 4096, 4096, false>>(library, true);
  time_product<DenseProduct<1, 2048, 4096, 8192, false>>(library, true);
  time_product<DenseProduct<1, 1024, 1024, 1024, true>>(library, true);
  time_product<DenseProduct<1, 16384, 4096, 1024, true>>(library, false);
}
