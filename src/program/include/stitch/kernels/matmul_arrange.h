// Passes around a library's product for tensors in other layouts: operands copied into dense matrices,
// results finished (epilogue, strides, type). Indices come from the struct in matmul.h. Each kernel reads and
// writes every element once.
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
constexpr int arrange_threads = 256;

inline Geometry one_thread_each(int64_t count) {
  return {blocks_of(divide_up(count, arrange_threads)), arrange_threads};
}

template <int filled>
__host__ __device__ constexpr int64_t filled_up(int64_t count) {
  return filled <= 1 ? count : (count + filled - 1) / filled * filled;
}

// dense (batches, rows, depth)
template <class Product, class To>
__global__ void __launch_bounds__(arrange_threads)
    arrange_left_kernel(const typename Product::Left* __restrict__ left, To* __restrict__ dense,
                        Product product) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  using Flat = flat_t<Product>;
  const int64_t count = int64_t{product.batches} * product.rows * product.depth;
  const int64_t wide = static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide), depth = static_cast<Flat>(product.depth),
             side = static_cast<Flat>(product.rows);
  const Index k = static_cast<Index>(element % depth), row = static_cast<Index>(element / depth % side),
              batch = static_cast<Index>(element / depth / side);
  dense[element] = static_cast<To>(static_cast<typename Product::Sum>(left[product.left(batch, row, k)]));
}
template <class Product, class To>
StitchStatus arrange_left(Product product, const typename Product::Left* left, To* dense,
                          cudaStream_t stream) {
  return launch("arrange_left", arrange_left_kernel<Product, To>,
                one_thread_each(int64_t{product.batches} * product.rows * product.depth), stream, left, dense,
                product);
}

// dense (batches, columns, depth): transposed, like nn.Linear's weight
template <class Product, class To>
__global__ void __launch_bounds__(arrange_threads)
    arrange_right_kernel(const typename Product::Right* __restrict__ right, To* __restrict__ dense,
                         Product product) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  using Flat = flat_t<Product>;
  const int64_t count = int64_t{product.batches} * product.columns * product.depth;
  const int64_t wide = static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide), depth = static_cast<Flat>(product.depth),
             side = static_cast<Flat>(product.columns);
  const Index k = static_cast<Index>(element % depth), column = static_cast<Index>(element / depth % side),
              batch = static_cast<Index>(element / depth / side);
  dense[element] =
      static_cast<To>(static_cast<typename Product::Sum>(right[product.right(batch, k, column)]));
}
template <class Product, class To>
StitchStatus arrange_right(Product product, const typename Product::Right* right, To* dense,
                           cudaStream_t stream) {
  return launch("arrange_right", arrange_right_kernel<Product, To>,
                one_thread_each(int64_t{product.batches} * product.columns * product.depth), stream, right,
                dense, product);
}

// dense (batches, rows, pitch), whose first columns are the result, or `partials` such matrices to be summed;
// the pitch is the columns, rounded up to a multiple of `filled`; 0: `out` itself. `enlarged` above 1: (rows,
// 2, pitch) instead, the second scaled by `enlarged`. `width` adjacent elements per thread.
template <class Product, int partials, int filled, int width, int enlarged, class From, class Epilogue>
__global__ void __launch_bounds__(arrange_threads)
    finish_kernel(const From* dense, typename Product::Out* out, Epilogue epilogue, Product product) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  using Flat = flat_t<Product>;
  const int64_t high = int64_t{product.batches} * product.rows, count = high * product.columns;
  const int64_t pitch = filled_up<filled>(product.columns);
  const int64_t row_pitch = enlarged > 1 ? partials * pitch : pitch;
  const int64_t distance = enlarged > 1 ? pitch : high * pitch;
  const int64_t wide = (static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x) * width;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide), columns = static_cast<Flat>(product.columns),
             rows = static_cast<Flat>(product.rows);
  const Index column = static_cast<Index>(element % columns),
              row = static_cast<Index>(element / columns % rows),
              batch = static_cast<Index>(element / columns / rows);
  if constexpr (filled == 0)
    dense += product.out(batch, row, column);
  else
    dense += element / columns * row_pitch + element % columns;
  typename Product::Sum sums[width] = {};
#pragma unroll 8
  for (int p = 0; p < partials; ++p) {
    const auto values = *reinterpret_cast<const Pack<From, width>*>(dense + p * distance);
#pragma unroll
    for (int i = 0; i < width; ++i)
      sums[i] = p == 0 ? static_cast<typename Product::Sum>(values[i])
                       : sums[i] + static_cast<typename Product::Sum>(values[i]) / enlarged;
  }
  Pack<typename Product::Out, width> results;
#pragma unroll
  for (int i = 0; i < width; ++i)
    results[i] =
        static_cast<typename Product::Out>(epilogue(sums[i], product.position(batch, row, column + i)));
  *reinterpret_cast<Pack<typename Product::Out, width>*>(out + product.out(batch, row, column)) = results;
}
// `quads`: every four adjacent elements of a row are contiguous in `out`, 16-byte aligned if it is.
template <int partials, int filled, bool quads, int enlarged = 1, class Product, class From, class Epilogue>
StitchStatus finish_product(const char* name, Product product, const From* dense, typename Product::Out* out,
                            Epilogue epilogue, cudaStream_t stream) {
  const int64_t count = int64_t{product.batches} * product.rows * product.columns;
  constexpr int width = filled == 0 ? 16 / static_cast<int>(sizeof(From)) : 4;
  if constexpr (quads) {
    if (reinterpret_cast<uintptr_t>(dense) % 16 == 0 && reinterpret_cast<uintptr_t>(out) % 16 == 0)
      return launch(name, finish_kernel<Product, partials, filled, width, enlarged, From, Epilogue>,
                    one_thread_each(count / width), stream, dense, out, epilogue, product);
  }
  return launch(name, finish_kernel<Product, partials, filled, 1, enlarged, From, Epilogue>,
                one_thread_each(count), stream, dense, out, epilogue, product);
}

// Converts weights, keeping their order.
template <class From, class To>
__global__ void __launch_bounds__(arrange_threads)
    convert_kernel(const From* __restrict__ from, To* __restrict__ to, int64_t count) {
  wait_for_previous_kernel();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x;
  if (i < count) to[i] = static_cast<To>(static_cast<float>(from[i]));
}
template <class From, class To>
StitchStatus convert(const From* from, To* to, int64_t count, cudaStream_t stream) {
  return launch("convert", convert_kernel<From, To>, one_thread_each(count), stream, from, to, count);
}

}  // namespace stitch
