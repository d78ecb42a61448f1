// matmul.scaled_half and its conversions beside cuBLASLt's TF32 (measure.h has the command), in milliseconds.
// "linear" has a weight on the right, packed when a program is created; "matmul" converts both sides on every
// run; "stored" is the product alone, as where the plan stores what it reads in fp16. Shares are of 757
// TFLOP/s, or of 4.29 TB/s for the bytes that FP32 tensors have, whichever is larger. Errors are of inputs
// uniform in [0, 1) and normal.
#include <string>

#include "measure.h"
#include "stitch/kernels/split_half.h"
#include "stitch/runtime/cublaslt.h"

constexpr stitch::SplitBlocks h200_blocks{792, 132};

namespace {

template <class P, bool weight>
void bench() {
  std::string name =
      std::to_string(P::rows) + " x " + std::to_string(P::columns) + " x " + std::to_string(P::depth);
  if (P::batches > 1) name = std::to_string(P::batches) + " x (" + name + ")";
  name += weight ? " linear" : " matmul";
  if (!wanted(name.c_str())) return;
  constexpr int64_t depth = (P::depth + 7) / 8 * 8;
  using L = SplitOperand<P, true, true, 1, depth, false>;
  using R = SplitOperand<P, false, P::right_by_depth, 1, depth, weight>;
  static_assert(depth == P::depth && P::columns % 8 == 0, "dense operands are multiplied as they are");
  Buffer<float> left(P::left_elements), right(P::right_elements), out(P::out_elements);
  Buffer<__half> left_half(P::left_elements), right_half(P::right_elements);
  Buffer<SplitFactors> factors(1);
  Buffer<float> largest(h200_blocks.splitting);
  CublasLt library;
  OK(library.create());
  MatmulSpec spec{P::rows, P::columns, P::depth};
  spec.batch = P::batches;
  spec.right_transposed = P::right_by_depth;
  Matmul in_tf32, in_half;
  spec.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  OK(in_tf32.create(library, spec));
  spec.compute = CUBLAS_COMPUTE_32F;
  spec.type = CUDA_R_16F;
  spec.result_type = CUDA_R_32F;
  spec.factors = factors.data->first;
  OK(in_half.create(library, spec));

  const auto theirs = [&] { OK(in_tf32.enqueue(left.data, right.data, out.data, nullptr)); };
  const auto convert_right = [&] {
    OK((split_operand<R, false, true>(right.data, right_half.data, largest.data, &factors.data->scale,
                                      factors.data, 1.0f, h200_blocks, nullptr)));
  };
  const auto convert_left = [&] {
    OK((split_operand<L, true, true>(left.data, left_half.data, largest.data, &factors.data->scale,
                                     factors.data, 1.0f, h200_blocks, nullptr)));
  };
  const auto multiply = [&] { OK(in_half.enqueue(left_half.data, right_half.data, out.data, nullptr)); };
  const auto ours = [&] {
    if (!weight) convert_right();
    convert_left();
    multiply();
  };
  double errors[2][2];  // theirs and ours, uniform and normal
  for (bool normal : {true, false}) {
    draw<<<2048, 256>>>(left.data, P::left_elements, 1, normal, 1.0f);
    draw<<<2048, 256>>>(right.data, P::right_elements, 12345678901, normal, 1.0f);
    convert_right();
    theirs();
    errors[0][normal] = error_of_product<P>(left.data, right.data, out.data);
    ours();
    errors[1][normal] = error_of_product<P>(left.data, right.data, out.data);
  }
  const double library_time = time_of(theirs), converting = time_of(convert_left),
               product = time_of(multiply), whole = time_of(ours);
  constexpr double bytes = 4.0 * (P::left_elements + P::right_elements + P::out_elements);
  const auto share = [&](double time) {
    return 100 * std::max(P::flops / 757e12, bytes / 4.29e12) * 1e3 / time;
  };
  say("%-34s TF32 %8.4f %6.1f TFLOP/s %3.0f%%  %.1e %.1e | ours %8.4f %6.1f TFLOP/s %3.0f%%  %.1e %.1e  "
      "%.2fx | "
      "left %7.4f product %8.4f stored %.2fx\n",
      name.c_str(), library_time, P::flops / library_time / 1e9, share(library_time), errors[0][0],
      errors[0][1], whole, P::flops / whole / 1e9, share(whole), errors[1][0], errors[1][1],
      library_time / whole, converting, product, library_time / product);
}

template <int64_t rows, int64_t columns, int64_t depth, int64_t batches = 1>
void matmul() {
  bench<DenseProduct<batches, rows, columns, depth, false>, false>();
}
template <int64_t rows, int64_t columns, int64_t depth>
void linear() {
  bench<DenseProduct<1, rows, columns, depth, true>, true>();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  matmul<4096, 4096, 4096>();      // KernelBench Level 1, task 1
  matmul<2048, 4096, 8192>();      // 2
  matmul<512, 2048, 1024, 128>();  // 3
  matmul<256, 256, 524288>();      // 6
  matmul<32768, 32768, 64>();      // 7
  matmul<32768, 32768, 32>();      // 9
  matmul<16384, 768, 2048>();      // 10
  matmul<8192, 8192, 8192>();
  linear<8192, 8192, 8192>();
  linear<1024, 8192, 8192>();  // Level 2, tasks 9 to 99
  linear<2048, 4096, 4096>();
  linear<16384, 4096, 4096>();
  linear<128, 16384, 4096>();
  linear<128, 16384, 16384>();  // Level 3, tasks 1 to 3
  linear<4096, 3072, 768>();    // layers of transformers
  linear<4096, 768, 3072>();
  linear<16384, 3072, 768>();
  linear<16384, 768, 3072>();
  linear<8192, 1024, 1024>();
  linear<2048, 14336, 4096>();
  linear<512, 1024, 1024>();  // too small to gain
}
