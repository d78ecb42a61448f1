// What a library's product needs around it when tensors don't lie as it wants them: operands copied into
// dense matrices, the result finished (epilogue, strides, type) by a pass of its own. Indices come from the
// same struct as in matmul.h. Each kernel reads and writes every element once.
#pragma once

#include "stitch/kernels/matmul.h"

namespace stitch {
constexpr int arrange_threads = 256;

inline Geometry one_thread_each(int64_t count) {
  return {static_cast<unsigned>(divide_up(count, arrange_threads)), arrange_threads};
}

// dense (batches, rows, depth)
template <class P, class To>
__global__ void __launch_bounds__(arrange_threads)
    arrange_left_kernel(const typename P::Left* __restrict__ left, To* __restrict__ dense) {
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

// dense (batches, rows, columns), which may be `out` itself
template <class P, class From, class Epilogue>
__global__ void __launch_bounds__(arrange_threads)
    finish_kernel(const From* dense, typename P::Out* out, Epilogue epilogue) {
  using Index = typename P::Index;
  constexpr int64_t count = int64_t{P::batches} * P::rows * P::columns;
  using Flat = flat_index_t<count>;
  const int64_t wide = static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide);
  const Index column = static_cast<Index>(element % Flat{P::columns}),
              row = static_cast<Index>(element / Flat{P::columns} % Flat{P::rows}),
              batch = static_cast<Index>(element / Flat{P::columns} / Flat{P::rows});
  typename P::Sum value = static_cast<typename P::Sum>(dense[element]);
  out[P::out(batch, row, column)] =
      static_cast<typename P::Out>(epilogue(value, P::position(batch, row, column)));
}
template <class P, class From, class Epilogue>
StitchStatus finish_product(const char* name, const From* dense, typename P::Out* out, Epilogue epilogue,
                            cudaStream_t stream) {
  return launch(name, finish_kernel<P, From, Epilogue>,
                one_thread_each(int64_t{P::batches} * P::rows * P::columns), stream, dense, out, epilogue);
}

// Weights in another type, in the order they have.
template <class From, class To>
__global__ void __launch_bounds__(arrange_threads)
    convert_kernel(const From* __restrict__ from, To* __restrict__ to, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x;
  if (i < count) to[i] = static_cast<To>(static_cast<float>(from[i]));
}
template <class From, class To>
StitchStatus convert(const From* from, To* to, int64_t count, cudaStream_t stream) {
  return launch("convert", convert_kernel<From, To>, one_thread_each(count), stream, from, to, count);
}

}  // namespace stitch
