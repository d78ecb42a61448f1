// What a library's product needs around it when tensors don't lie as it wants them: operands copied into
// dense matrices, the result finished (epilogue, strides, type) by a pass of its own. Indices come from the
// same struct as in matmul.h. Each kernel reads and writes every element once.
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
constexpr int arrange_threads = 256;

inline Geometry one_thread_each(int64_t count) {
  return {static_cast<unsigned>(divide_up(count, arrange_threads)), arrange_threads};
}

// dense (batches, rows, depth)
template <class P, class To>
__global__ void __launch_bounds__(arrange_threads)
    arrange_left_kernel(const typename P::Left* __restrict__ left, To* __restrict__ dense) {
  wait_for_previous_kernel();
  using Index = typename P::Index;
  constexpr int64_t count = int64_t{P::batches} * P::rows * P::depth;
  using Flat = flat_index_t<count>;
  const int64_t wide = static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide);
  const Index k = static_cast<Index>(element % Flat{P::depth}),
              row = static_cast<Index>(element / Flat{P::depth} % Flat{P::rows}),
              batch = static_cast<Index>(element / Flat{P::depth} / Flat{P::rows});
  dense[element] = static_cast<To>(static_cast<typename P::Sum>(left[P::left(batch, row, k)]));
}
template <class P, class To>
StitchStatus arrange_left(const typename P::Left* left, To* dense, cudaStream_t stream) {
  return launch("arrange_left", arrange_left_kernel<P, To>,
                one_thread_each(int64_t{P::batches} * P::rows * P::depth), stream, left, dense);
}

// dense (batches, columns, depth): transposed, as nn.Linear's weight is
template <class P, class To>
__global__ void __launch_bounds__(arrange_threads)
    arrange_right_kernel(const typename P::Right* __restrict__ right, To* __restrict__ dense) {
  wait_for_previous_kernel();
  using Index = typename P::Index;
  constexpr int64_t count = int64_t{P::batches} * P::columns * P::depth;
  using Flat = flat_index_t<count>;
  const int64_t wide = static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide);
  const Index k = static_cast<Index>(element % Flat{P::depth}),
              column = static_cast<Index>(element / Flat{P::depth} % Flat{P::columns}),
              batch = static_cast<Index>(element / Flat{P::depth} / Flat{P::columns});
  dense[element] = static_cast<To>(static_cast<typename P::Sum>(right[P::right(batch, k, column)]));
}
template <class P, class To>
StitchStatus arrange_right(const typename P::Right* right, To* dense, cudaStream_t stream) {
  return launch("arrange_right", arrange_right_kernel<P, To>,
                one_thread_each(int64_t{P::batches} * P::columns * P::depth), stream, right, dense);
}

// dense (batches, rows, pitch), of which the first columns are the result, or `partials` of them behind each
// other, to be added up; pitch 0: `out` itself. `enlarged` above 1: row beside row instead, (rows, 2, pitch),
// the second so many times as large. `width` neighbours of a row a thread.
template <class P, int partials, int64_t pitch, int width, int enlarged, class From, class Epilogue>
__global__ void __launch_bounds__(arrange_threads)
    finish_kernel(const From* dense, typename P::Out* out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Index = typename P::Index;
  constexpr int64_t high = int64_t{P::batches} * P::rows, count = high * P::columns;
  constexpr int64_t row_pitch = enlarged > 1 ? partials * pitch : pitch;
  constexpr int64_t distance = enlarged > 1 ? pitch : high * pitch;
  using Flat = flat_index_t<(row_pitch > P::columns ? high * row_pitch : count)>;
  const int64_t wide = (static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x) * width;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide);
  const Index column = static_cast<Index>(element % Flat{P::columns}),
              row = static_cast<Index>(element / Flat{P::columns} % Flat{P::rows}),
              batch = static_cast<Index>(element / Flat{P::columns} / Flat{P::rows});
  if constexpr (pitch == 0)
    dense += P::out(batch, row, column);
  else
    dense += element / Flat{P::columns} * Flat{row_pitch} + element % Flat{P::columns};
  typename P::Sum sums[width] = {};
#pragma unroll 8
  for (int p = 0; p < partials; ++p) {
    const auto values = *reinterpret_cast<const Pack<From, width>*>(dense + p * distance);
#pragma unroll
    for (int i = 0; i < width; ++i)
      sums[i] = p == 0 ? static_cast<typename P::Sum>(values[i])
                       : sums[i] + static_cast<typename P::Sum>(values[i]) / enlarged;
  }
  Pack<typename P::Out, width> results;
#pragma unroll
  for (int i = 0; i < width; ++i)
    results[i] = static_cast<typename P::Out>(epilogue(sums[i], P::position(batch, row, column + i)));
  *reinterpret_cast<Pack<typename P::Out, width>*>(out + P::out(batch, row, column)) = results;
}
// `quads`: every four neighbours of a row, or 16 bytes of them in place, lie side by side in `out`, at 16
// bytes if it does.
template <class P, int partials, int64_t pitch, bool quads, int enlarged = 1, class From, class Epilogue>
StitchStatus finish_product(const char* name, const From* dense, typename P::Out* out, Epilogue epilogue,
                            cudaStream_t stream) {
  constexpr int64_t count = int64_t{P::batches} * P::rows * P::columns;
  constexpr int width = pitch == 0 ? 16 / static_cast<int>(sizeof(From)) : 4;
  if constexpr (quads) {
    if (reinterpret_cast<uintptr_t>(dense) % 16 == 0 && reinterpret_cast<uintptr_t>(out) % 16 == 0)
      return launch(name, finish_kernel<P, partials, pitch, width, enlarged, From, Epilogue>,
                    one_thread_each(count / width), stream, dense, out, epilogue);
  }
  return launch(name, finish_kernel<P, partials, pitch, 1, enlarged, From, Epilogue>, one_thread_each(count),
                stream, dense, out, epilogue);
}

// Weights in another type, in the order they have.
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
