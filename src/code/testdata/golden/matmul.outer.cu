#include "stitch/kernels/matmul.h"
#include "stitch/runtime/launch.h"

// y (64, 96) = a (64, 1) · b (1, 96)
// Nothing is summed: each thread writes one element.
struct GoldenProduct {  // y (64, 96) = a (64, 1) · b (1, 96)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 64, columns = 96, depth = 1;
  static constexpr bool left_by_depth = false, right_by_depth = false, has_right = true, padded = false;
  __device__ static Index left(Index, Index row, Index) { return row; }
  __device__ static Index right(Index, Index, Index column) { return column; }
  __device__ static Index out(Index, Index row, Index column) { return column + row * 96; }
  __device__ static Index position(Index, Index row, Index column) { return column + row * 96; }
};

template <class P, class Epilogue>
__global__ void golden_outer(const typename P::Left* left, const typename P::Right* right,
                    typename P::Out* out, Epilogue epilogue, P p) {
  stitch::wait_for_previous_kernel();
  using Index = typename P::Index;
  using Sum = typename P::Sum;
  const Index element = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= p.batches * p.rows * p.columns) return;
  const Index column = element % p.columns, row = element / p.columns % p.rows,
              batch = element / (p.columns * p.rows);
  const Sum value = static_cast<Sum>(left[p.left(batch, row, 0)]) *
                    static_cast<Sum>(right[p.right(batch, 0, column)]);
  out[p.out(batch, row, column)] =
      static_cast<typename P::Out>(epilogue(value, p.position(batch, row, column)));
}

StitchStatus enqueue_golden(const float* a,  // (64, 1)
                            const float* b,  // (1, 96)
                            float* y,        // (64, 96)
                            cudaStream_t stream) {
  return stitch::launch("golden", golden_outer<GoldenProduct, stitch::NoEpilogue>, {24, 256}, stream, a, b, y,
                        stitch::NoEpilogue{}, GoldenProduct{});
}
