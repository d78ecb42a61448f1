// Passes around a library's product for tensors in other layouts: operands copied into dense matrices,
// results finished (epilogue, strides, type). Indices come from the struct in matmul.h. Each kernel reads and
// writes every element once.
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
constexpr int arrange_threads = 256;

inline Geometry one_thread_each(int64_t count) {
  return {static_cast<unsigned>(divide_up(count, arrange_threads)), arrange_threads};
}

// dense (batches, rows, depth)
template <class Product, class To>
__global__ void __launch_bounds__(arrange_threads)
    arrange_left_kernel(const typename Product::Left* __restrict__ left, To* __restrict__ dense) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  constexpr int64_t count = int64_t{Product::batches} * Product::rows * Product::depth;
  using Flat = flat_index_t<count>;
  const int64_t wide = static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide);
  const Index k = static_cast<Index>(element % Flat{Product::depth}),
              row = static_cast<Index>(element / Flat{Product::depth} % Flat{Product::rows}),
              batch = static_cast<Index>(element / Flat{Product::depth} / Flat{Product::rows});
  dense[element] = static_cast<To>(static_cast<typename Product::Sum>(left[Product::left(batch, row, k)]));
}
template <class Product, class To>
StitchStatus arrange_left(const typename Product::Left* left, To* dense, cudaStream_t stream) {
  return launch("arrange_left", arrange_left_kernel<Product, To>,
                one_thread_each(int64_t{Product::batches} * Product::rows * Product::depth), stream, left,
                dense);
}

// dense (batches, columns, depth): transposed, like nn.Linear's weight
template <class Product, class To>
__global__ void __launch_bounds__(arrange_threads)
    arrange_right_kernel(const typename Product::Right* __restrict__ right, To* __restrict__ dense) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  constexpr int64_t count = int64_t{Product::batches} * Product::columns * Product::depth;
  using Flat = flat_index_t<count>;
  const int64_t wide = static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide);
  const Index k = static_cast<Index>(element % Flat{Product::depth}),
              column = static_cast<Index>(element / Flat{Product::depth} % Flat{Product::columns}),
              batch = static_cast<Index>(element / Flat{Product::depth} / Flat{Product::columns});
  dense[element] =
      static_cast<To>(static_cast<typename Product::Sum>(right[Product::right(batch, k, column)]));
}
template <class Product, class To>
StitchStatus arrange_right(const typename Product::Right* right, To* dense, cudaStream_t stream) {
  return launch("arrange_right", arrange_right_kernel<Product, To>,
                one_thread_each(int64_t{Product::batches} * Product::columns * Product::depth), stream, right,
                dense);
}

// dense (batches, rows, pitch), whose first columns are the result, or `partials` such matrices to be summed;
// pitch 0: `out` itself. `enlarged` above 1: (rows, 2, pitch) instead, the second scaled by `enlarged`.
// `width` adjacent elements per thread.
template <class Product, int partials, int64_t pitch, int width, int enlarged, class From, class Epilogue>
__global__ void __launch_bounds__(arrange_threads)
    finish_kernel(const From* dense, typename Product::Out* out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  constexpr int64_t high = int64_t{Product::batches} * Product::rows, count = high * Product::columns;
  constexpr int64_t row_pitch = enlarged > 1 ? partials * pitch : pitch;
  constexpr int64_t distance = enlarged > 1 ? pitch : high * pitch;
  using Flat = flat_index_t<(row_pitch > Product::columns ? high * row_pitch : count)>;
  const int64_t wide = (static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x) * width;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide);
  const Index column = static_cast<Index>(element % Flat{Product::columns}),
              row = static_cast<Index>(element / Flat{Product::columns} % Flat{Product::rows}),
              batch = static_cast<Index>(element / Flat{Product::columns} / Flat{Product::rows});
  if constexpr (pitch == 0)
    dense += Product::out(batch, row, column);
  else
    dense += element / Flat{Product::columns} * Flat{row_pitch} + element % Flat{Product::columns};
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
        static_cast<typename Product::Out>(epilogue(sums[i], Product::position(batch, row, column + i)));
  *reinterpret_cast<Pack<typename Product::Out, width>*>(out + Product::out(batch, row, column)) = results;
}
// `quads`: every four adjacent elements of a row are contiguous in `out`, 16-byte aligned if it is.
template <class Product, int partials, int64_t pitch, bool quads, int enlarged = 1, class From,
          class Epilogue>
StitchStatus finish_product(const char* name, const From* dense, typename Product::Out* out,
                            Epilogue epilogue, cudaStream_t stream) {
  constexpr int64_t count = int64_t{Product::batches} * Product::rows * Product::columns;
  constexpr int width = pitch == 0 ? 16 / static_cast<int>(sizeof(From)) : 4;
  if constexpr (quads) {
    if (reinterpret_cast<uintptr_t>(dense) % 16 == 0 && reinterpret_cast<uintptr_t>(out) % 16 == 0)
      return launch(name, finish_kernel<Product, partials, pitch, width, enlarged, From, Epilogue>,
                    one_thread_each(count / width), stream, dense, out, epilogue);
  }
  return launch(name, finish_kernel<Product, partials, pitch, 1, enlarged, From, Epilogue>,
                one_thread_each(count), stream, dense, out, epilogue);
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
