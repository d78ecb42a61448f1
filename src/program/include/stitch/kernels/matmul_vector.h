// Products with a side of at most 12 rows or columns: matrix times one or a few vectors. Bound by reading the
// wide matrix once, 16 bytes at a time. The depth is split into segments so that long thin products fill the
// GPU: each block sums one segment for a few rows of the wide matrix, and a finishing pass adds the segments.
#pragma once

#include "stitch/kernels/matmul_arrange.h"

namespace stitch {
// The sides of Product by size.
template <class Product, bool thin_rows>
struct VectorSides {
  using Index = typename Product::Index;
  static constexpr int thin = static_cast<int>(thin_rows ? Product::rows : Product::columns);
  static constexpr int64_t wide = thin_rows ? Product::columns : Product::rows;
  static __device__ __forceinline__ Index wide_at(Index batch, Index w, Index k) {
    return thin_rows ? Product::right(batch, k, w) : Product::left(batch, w, k);
  }
  static __device__ __forceinline__ Index thin_at(Index batch, Index t, Index k) {
    return thin_rows ? Product::left(batch, t, k) : Product::right(batch, k, t);
  }
  static __device__ __forceinline__ Index row(Index w, Index t) { return thin_rows ? t : w; }
  static __device__ __forceinline__ Index column(Index w, Index t) { return thin_rows ? w : t; }
};

constexpr int vector_threads = 256;

// 16 bytes of elements.
template <class Number>
constexpr int vector_width = 16 / static_cast<int>(sizeof(Number));

// Where a sum goes: the result if there is one segment, otherwise the partial sums.
template <class Product, bool whole, class To, class Epilogue>
struct VectorStore {
  To* out;
  Epilogue epilogue;
  __device__ __forceinline__ void operator()(int64_t segment, typename Product::Index batch,
                                             typename Product::Index row, typename Product::Index column,
                                             float sum) const {
    if constexpr (whole)
      out[Product::out(batch, row, column)] =
          static_cast<To>(epilogue(sum, Product::position(batch, row, column)));
    else
      out[((segment * Product::batches + batch) * Product::rows + row) * Product::columns + column] = sum;
  }
};

// 16 bytes of adjacent elements; zeros past the end.
template <bool quads, class Number, class At>
__device__ __forceinline__ Pack<Number, vector_width<Number>> vector_along(const Number* __restrict__ from,
                                                                           int64_t k, int64_t end, At at) {
  constexpr int width = vector_width<Number>;
  if constexpr (quads) return stitch::load<width>(from + at(k), 0);
  Pack<Number, width> values = {};
#pragma unroll
  for (int i = 0; i < width; ++i)
    if (k + i < end) values[i] = from[at(k + i)];
  return values;
}

// Wide matrix with contiguous depth: each team of a block's threads takes `each` of its rows.
template <class Product, bool thin_rows, int64_t segment_depth, int teams, bool quads, class Store>
__global__ void __launch_bounds__(vector_threads)
    vector_by_depth(const typename Product::Left* __restrict__ wide,
                    const typename Product::Left* __restrict__ thin, Store store) {
  wait_for_previous_kernel();
  using Sides = VectorSides<Product, thin_rows>;
  using Index = typename Product::Index;
  using Number = typename Product::Left;
  constexpr int count = Sides::thin, each = count <= 4 ? 4 : 2, width = vector_width<Number>;
  constexpr int team_threads = vector_threads / teams;
  constexpr int64_t groups = (Sides::wide + each * teams - 1) / (each * teams);
  const int team = static_cast<int>(threadIdx.x) / team_threads;
  const Index block0 = static_cast<Index>(blockIdx.x % groups * (each * teams)), w0 = block0 + team * each;
  const Index batch = static_cast<Index>(blockIdx.x / groups % Product::batches);
  const int64_t segment = blockIdx.x / groups / Product::batches;
  const int64_t first = segment * segment_depth;
  const int64_t end = first + segment_depth < Product::depth ? first + segment_depth : Product::depth;
  auto row_of = [&](int e) { return w0 + e < Sides::wide ? w0 + e : static_cast<Index>(Sides::wide - 1); };

  float sums[each][count] = {};
#pragma unroll 2
  for (int64_t k = first + threadIdx.x % team_threads * width; k < end; k += team_threads * width) {
    Pack<Number, width> matrix[each];
#pragma unroll
    for (int e = 0; e < each; ++e)
      matrix[e] = vector_along<quads>(
          wide, k, end, [&](int64_t at) { return Sides::wide_at(batch, row_of(e), static_cast<Index>(at)); });
#pragma unroll
    for (int t = 0; t < count; ++t) {
      const Pack<Number, width> vector = vector_along<quads>(thin, k, end, [&](int64_t at) {
        return Sides::thin_at(batch, static_cast<Index>(t), static_cast<Index>(at));
      });
#pragma unroll
      for (int e = 0; e < each; ++e)
#pragma unroll
        for (int i = 0; i < width; ++i)
          sums[e][t] += static_cast<float>(matrix[e][i]) * static_cast<float>(vector[i]);
    }
  }
  constexpr int warps = vector_threads / 32, team_warps = team_threads / 32;
  __shared__ float of_warps[warps][each * count];
#pragma unroll
  for (int e = 0; e < each; ++e)
#pragma unroll
    for (int t = 0; t < count; ++t) {
#pragma unroll
      for (int mask = 16; mask > 0; mask /= 2) sums[e][t] += __shfl_xor_sync(0xffffffffu, sums[e][t], mask);
      if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32][e * count + t] = sums[e][t];
    }
  __syncthreads();
  const int mine = static_cast<int>(threadIdx.x), of_team = mine % (each * count),
            row = mine / (each * count) * each + of_team / count;
  if (mine >= teams * each * count || block0 + row >= Sides::wide) return;
  float sum = 0.0f;
#pragma unroll
  for (int warp = 0; warp < team_warps; ++warp)
    sum += of_warps[mine / (each * count) * team_warps + warp][of_team];
  const Index w = block0 + row, t = static_cast<Index>(of_team % count);
  store(segment, batch, Sides::row(w, t), Sides::column(w, t), sum);
}

// Wide matrix with its other side contiguous: a block takes 32 vectors of columns, and each warp every eighth
// step of the depth.
template <class Product, bool thin_rows, int64_t segment_depth, bool quads, class Store>
__global__ void __launch_bounds__(vector_threads)
    vector_by_side(const typename Product::Left* __restrict__ wide,
                   const typename Product::Left* __restrict__ thin, Store store) {
  wait_for_previous_kernel();
  using Sides = VectorSides<Product, thin_rows>;
  using Index = typename Product::Index;
  using Number = typename Product::Left;
  constexpr int count = Sides::thin, warps = vector_threads / 32, width = vector_width<Number>,
                across = 32 * width;
  constexpr int64_t groups = (Sides::wide + across - 1) / across;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t w0 = blockIdx.x % groups * across;
  const Index batch = static_cast<Index>(blockIdx.x / groups % Product::batches);
  const int64_t segment = blockIdx.x / groups / Product::batches;
  const int64_t first = segment * segment_depth;
  const int64_t end = first + segment_depth < Product::depth ? first + segment_depth : Product::depth;

  float sums[count][width] = {};
  const int64_t w = w0 + lane * width;
  if (w < Sides::wide) {
#pragma unroll 4
    for (int64_t k = first + warp; k < end; k += warps) {
      const Pack<Number, width> matrix = vector_along<quads>(wide, w, Sides::wide, [&](int64_t at) {
        return Sides::wide_at(batch, static_cast<Index>(at), static_cast<Index>(k));
      });
#pragma unroll
      for (int t = 0; t < count; ++t) {
        const auto vector =
            static_cast<float>(thin[Sides::thin_at(batch, static_cast<Index>(t), static_cast<Index>(k))]);
#pragma unroll
        for (int i = 0; i < width; ++i) sums[t][i] += static_cast<float>(matrix[i]) * vector;
      }
    }
  }
  __shared__ float of_warps[warps][count][across];
#pragma unroll
  for (int t = 0; t < count; ++t)
#pragma unroll
    for (int i = 0; i < width; ++i) of_warps[warp][t][lane * width + i] = sums[t][i];
  __syncthreads();
  for (int mine = static_cast<int>(threadIdx.x); mine < count * across; mine += vector_threads) {
    const int t = mine / across, column = mine % across;
    if (w0 + column >= Sides::wide) continue;
    float sum = 0.0f;
#pragma unroll
    for (int each = 0; each < warps; ++each) sum += of_warps[each][t][column];
    const Index at = static_cast<Index>(w0 + column);
    store(segment, batch, Sides::row(at, static_cast<Index>(t)), Sides::column(at, static_cast<Index>(t)),
          sum);
  }
}

// `partial`: (segments, batches, rows, columns), if there is more than one segment. `quads`: a thread's 16
// bytes are contiguous, and aligned if the tensor is.
template <class Product, bool thin_rows, bool depth_inside, int64_t segment_depth, int teams, bool quads,
          class Epilogue>
StitchStatus enqueue_vector_product(const char* name, const typename Product::Left* left,
                                    const typename Product::Right* right, float* partial,
                                    typename Product::Out* out, Epilogue epilogue, cudaStream_t stream) {
  using Sides = VectorSides<Product, thin_rows>;
  using Number = typename Product::Left;
  static_assert(std::is_same_v<Number, typename Product::Right>, "operands of one type");
  constexpr int64_t segments = (Product::depth + segment_depth - 1) / segment_depth;
  constexpr int64_t together = !depth_inside ? 32 * vector_width<Number> : teams * (Sides::thin <= 4 ? 4 : 2);
  constexpr int64_t blocks = (Sides::wide + together - 1) / together * Product::batches * segments;
  static_assert(blocks < (int64_t{1} << 31), "more blocks than a grid has");
  const Geometry geometry{static_cast<unsigned>(blocks), vector_threads};
  const Number *wide = thin_rows ? right : left, *thin = thin_rows ? left : right;
  const bool aligned =
      reinterpret_cast<uintptr_t>(wide) % 16 == 0 && reinterpret_cast<uintptr_t>(thin) % 16 == 0;
  auto run = [&](auto store) {
    using Store = decltype(store);
    if constexpr (depth_inside) {
      if constexpr (quads)
        if (aligned)
          return launch(name, vector_by_depth<Product, thin_rows, segment_depth, teams, true, Store>,
                        geometry, stream, wide, thin, store);
      return launch(name, vector_by_depth<Product, thin_rows, segment_depth, teams, false, Store>, geometry,
                    stream, wide, thin, store);
    } else {
      if constexpr (quads)
        if (aligned)
          return launch(name, vector_by_side<Product, thin_rows, segment_depth, true, Store>, geometry,
                        stream, wide, thin, store);
      return launch(name, vector_by_side<Product, thin_rows, segment_depth, false, Store>, geometry, stream,
                    wide, thin, store);
    }
  };
  if constexpr (segments == 1) {
    return run(VectorStore<Product, true, typename Product::Out, Epilogue>{out, epilogue});
  } else {
    STITCH_OK_OR_RETURN(run(VectorStore<Product, false, float, NoEpilogue>{partial, {}}));
    return finish_product<Product, static_cast<int>(segments), Product::columns, false>(name, partial, out,
                                                                                        epilogue, stream);
  }
}

}  // namespace stitch
