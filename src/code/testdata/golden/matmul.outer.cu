// graph "golden"
// input %a : f32[64,1]
// input %b : f32[1,96]
// %y = matmul(%a, %b) : f32[64,96]
// output %y
// end

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

template <class Product, class Epilogue>
__global__ void golden_outer(const typename Product::Left* left, const typename Product::Right* right,
                    typename Product::Out* out, Epilogue epilogue, Product product) {
  stitch::wait_for_previous_kernel();
  using Index = typename Product::Index;
  using Sum = typename Product::Sum;
  const Index element = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= product.batches * product.rows * product.columns) return;
  const Index column = element % product.columns, row = element / product.columns % product.rows,
              batch = element / (product.columns * product.rows);
  const Sum value = static_cast<Sum>(left[product.left(batch, row, 0)]) *
                    static_cast<Sum>(right[product.right(batch, 0, column)]);
  out[product.out(batch, row, column)] =
      static_cast<typename Product::Out>(epilogue(value, product.position(batch, row, column)));
}

StitchStatus enqueue_golden(const float* a,  // (64, 1)
                            const float* b,  // (1, 96)
                            float* y,        // (64, 96)
                            cudaStream_t stream) {
  return stitch::launch("golden", golden_outer<GoldenProduct, stitch::NoEpilogue>, {24, 256}, stream, a, b, y,
                        stitch::NoEpilogue{}, GoldenProduct{});
}
