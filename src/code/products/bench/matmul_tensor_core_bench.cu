// matmul.tensor_core with several tiles, at the sizes of KernelBench's NetVLAD and Mamba2 and of long sums
// (measure.h has the command). Microseconds, TB/s of both sides and the result, TFLOP/s, relative error.
#include "measure.h"
#include "stitch/kernels/matmul_tensor_core.h"

// Strides of batches (outer and inner of inner_batches), of the sides and of the depth.
template <int64_t outer, int64_t inner, int64_t of_side, int64_t of_depth>
struct Strides {
  static constexpr int64_t batch = outer, inner_batch = inner, side = of_side, depth = of_depth;
};
template <int outer_batches, int inner_batches, int row_count, int column_count, int depth_count,
          class LeftAt, class RightAt, class OutAt, bool left_inside, bool right_inside>
struct Product {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = outer_batches * inner_batches, rows = row_count, columns = column_count,
                         depth = depth_count;
  static constexpr bool left_by_depth = left_inside, right_by_depth = right_inside, has_right = true,
                        padded = false;
  template <class At>
  __host__ __device__ static Index place(Index batch, Index side, Index k) {
    return static_cast<Index>(batch / inner_batches * At::batch + batch % inner_batches * At::inner_batch +
                              side * At::side + k * At::depth);
  }
  __host__ __device__ static Index left(Index b, Index row, Index k) { return place<LeftAt>(b, row, k); }
  __host__ __device__ static Index right(Index b, Index k, Index column) {
    return place<RightAt>(b, column, k);
  }
  __host__ __device__ static Index out(Index b, Index row, Index column) {
    return place<OutAt>(b, row, column);
  }
  __host__ __device__ static Index position(Index b, Index row, Index column) {
    return (b * rows + row) * columns + column;
  }
};

template <int of_rows, int of_columns, int tiles_of_rows, int tiles_of_columns, int depth, int stage_count>
struct Tiles {
  static constexpr int warp_rows = of_rows, warp_columns = of_columns, row_tiles = tiles_of_rows,
                       column_tiles = tiles_of_columns, depth_tile = depth, stages = stage_count;
  static constexpr bool left_quads = true, right_quads = true, out_pairs = true;
};
template <class T, bool pairs>
struct Pairs : T {
  static constexpr bool out_pairs = pairs;
};

struct Odd : Tiles<1, 4, 1, 8, 8, 1> {
  static constexpr bool left_quads = false;
};

template <class P>
struct Data {
  int64_t left_count = P::left(P::batches - 1, P::rows - 1, P::depth - 1) + 1,
          right_count = P::right(P::batches - 1, P::depth - 1, P::columns - 1) + 1,
          out_count = P::out(P::batches - 1, P::rows - 1, P::columns - 1) + 1;
  Buffer<float> left{left_count}, right{right_count}, out{out_count};
  Data() {
    draw<<<1024, 256>>>(left.data, left_count, 1, true, 1.0f);
    draw<<<1024, 256>>>(right.data, right_count, 7777, false, 1.0f);
  }
};

template <class P, class T>
void time_one(const char* name, const char* how, const Data<P>& data, double bytes) {
  CUDA(cudaMemset(data.out.data, 0xFF, static_cast<size_t>(data.out_count) * 4));
  const double time = time_of([&] {
    OK((enqueue_tensor_core_product<P, T>("product", data.left.data, data.right.data, data.out.data,
                                          NoEpilogue{}, nullptr)));
  });
  const double flops = 2.0 * P::batches * P::rows * P::columns * P::depth;
  say("%-22s %-24s %8.1f us %6.2f TB/s %7.1f TFLOP/s  %.1e\n", name, how, time * 1e3, bytes / time / 1e9,
      flops / time / 1e9, error_of_product<P>(data.left.data, data.right.data, data.out.data));
}

int main() {
  {  // NetVLAD: x (204800, 512) · clusters (512, 48)
    using P = Product<1, 1, 204800, 48, 512, Strides<0, 0, 512, 1>, Strides<0, 0, 1, 48>,
                      Strides<0, 0, 48, 1>, true, false>;
    Data<P> data;
    const double bytes = 4.0 * (204800.0 * 512 + 204800.0 * 48);
    time_one<P, Tiles<4, 1, 2, 6, 32, 3>>("netvlad assign", "4x1 2x6 32x3", data, bytes);
    time_one<P, Tiles<4, 1, 1, 6, 32, 3>>("netvlad assign", "4x1 1x6 32x3", data, bytes);
    time_one<P, Tiles<4, 1, 2, 6, 32, 4>>("netvlad assign", "4x1 2x6 32x4", data, bytes);
    time_one<P, Tiles<4, 1, 2, 6, 16, 4>>("netvlad assign", "4x1 2x6 16x4", data, bytes);
  }
  {  // NetVLAD: (2048) assign (100, 32)' · x (100, 512), the result (512, 32)
    using P = Product<2048, 1, 32, 512, 100, Strides<4800, 0, 1, 48>, Strides<51200, 0, 1, 512>,
                      Strides<16384, 0, 1, 32>, false, false>;
    Data<P> data;
    const double bytes = 4.0 * 2048 * (100 * 32 + 100 * 512 + 32 * 512);
    time_one<P, Pairs<Tiles<1, 4, 2, 4, 32, 3>, false>>("netvlad sum", "1x4 2x4 32x3", data, bytes);
    time_one<P, Pairs<Tiles<1, 4, 2, 2, 32, 3>, false>>("netvlad sum", "1x4 2x2 32x3", data, bytes);
    time_one<P, Pairs<Tiles<1, 4, 2, 4, 32, 2>, false>>("netvlad sum", "1x4 2x4 32x2", data, bytes);
    time_one<P, Pairs<Tiles<2, 2, 1, 6, 32, 3>, false>>("netvlad sum", "2x2 1x6 32x3", data, bytes);
  }
  {  // Mamba2: (2048, 2, 8) weights (64, 64) · x (64, 64), of x (2048, 2, 64, 8, 64)
    using P = Product<4096, 8, 64, 64, 64, Strides<32768, 4096, 64, 1>, Strides<32768, 64, 1, 512>,
                      Strides<32768, 64, 512, 1>, true, false>;
    Data<P> data;
    const double bytes = 4.0 * 3 * 32768 * 4096;
    time_one<P, Tiles<2, 2, 2, 4, 64, 1>>("mamba diagonal", "2x2 2x4 64x1", data, bytes);
    time_one<P, Tiles<4, 1, 1, 8, 64, 1>>("mamba diagonal", "4x1 1x8 64x1", data, bytes);
    time_one<P, Tiles<2, 2, 2, 4, 32, 2>>("mamba diagonal", "2x2 2x4 32x2", data, bytes);
  }
  {  // Mamba2: (2048, 2, 8) x (64, 64)' · b (64, 16)
    using P = Product<4096, 8, 64, 16, 64, Strides<32768, 64, 1, 512>, Strides<8192, 16, 1, 128>,
                      Strides<8192, 1024, 16, 1>, false, false>;
    Data<P> data;
    const double bytes = 4.0 * 32768 * (4096 + 1024 + 1024);
    time_one<P, Tiles<4, 1, 1, 2, 64, 1>>("mamba states", "4x1 1x2 64x1", data, bytes);
    time_one<P, Tiles<2, 2, 2, 1, 64, 1>>("mamba states", "2x2 2x1 64x1", data, bytes);
  }
  {  // Mamba2: (2048, 2, 8) c (64, 16) · states (16, 64)
    using P = Product<4096, 8, 64, 64, 16, Strides<8192, 16, 128, 1>, Strides<8192, 1024, 16, 1>,
                      Strides<32768, 64, 512, 1>, true, true>;
    Data<P> data;
    const double bytes = 4.0 * 32768 * (4096 + 1024 + 1024);
    time_one<P, Tiles<2, 2, 2, 4, 16, 1>>("mamba outputs", "2x2 2x4 16x1", data, bytes);
    time_one<P, Tiles<4, 1, 1, 8, 16, 1>>("mamba outputs", "4x1 1x8 16x1", data, bytes);
  }
  {  // Mamba2: (2048, 8) decay (3, 3) · states (3, 1024); a step of four for the decay
    using P = Product<2048, 8, 3, 1024, 3, Strides<96, 12, 4, 1>, Strides<24576, 1024, 1, 8192>,
                      Strides<24576, 1024, 8192, 1>, true, false>;
    Data<P> data;
    const double bytes = 4.0 * 2 * 16384 * 3 * 1024;
    time_one<P, Odd>("mamba recurrence", "1x4 1x8 8x1", data, bytes);
  }
}
