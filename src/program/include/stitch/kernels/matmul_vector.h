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
  Product product;
  __host__ __device__ constexpr Index thin() const { return thin_rows ? product.rows : product.columns; }
  __host__ __device__ constexpr int64_t wide() const { return thin_rows ? product.columns : product.rows; }
  __device__ __forceinline__ Index wide_at(Index batch, Index w, Index k) const {
    return thin_rows ? product.right(batch, k, w) : product.left(batch, w, k);
  }
  __device__ __forceinline__ Index thin_at(Index batch, Index t, Index k) const {
    return thin_rows ? product.left(batch, t, k) : product.right(batch, k, t);
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
  Product product;
  __device__ __forceinline__ void operator()(int64_t segment, typename Product::Index batch,
                                             typename Product::Index row, typename Product::Index column,
                                             float sum) const {
    if constexpr (whole)
      out[product.out(batch, row, column)] =
          static_cast<To>(epilogue(sum, product.position(batch, row, column)));
    else
      out[((segment * product.batches + batch) * product.rows + row) * product.columns + column] = sum;
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
template <class Product, bool thin_rows, int count, int64_t segment_depth, int teams, bool quads, class Store>
__global__ void __launch_bounds__(vector_threads)
    vector_by_depth(const typename Product::Left* __restrict__ wide,
                    const typename Product::Left* __restrict__ thin, Store store, Product product) {
  wait_for_previous_kernel();
  const VectorSides<Product, thin_rows> sides{product};
  using Index = typename Product::Index;
  using Number = typename Product::Left;
  constexpr int each = count <= 4 ? 4 : 2, width = vector_width<Number>;
  constexpr int team_threads = vector_threads / teams;
  const int64_t groups = (sides.wide() + each * teams - 1) / (each * teams);
  const int team = static_cast<int>(threadIdx.x) / team_threads;
  const Index block0 = static_cast<Index>(blockIdx.x % groups * (each * teams)), w0 = block0 + team * each;
  const Index batch = static_cast<Index>(blockIdx.x / groups % product.batches);
  const int64_t segment = blockIdx.x / groups / product.batches;
  const int64_t first = segment * segment_depth;
  const int64_t end = first + segment_depth < product.depth ? first + segment_depth : product.depth;
  auto vector_of = [&](int t) { return t < sides.thin() ? static_cast<Index>(t) : sides.thin() - 1; };
  auto row_of = [&](int e) { return w0 + e < sides.wide() ? w0 + e : static_cast<Index>(sides.wide() - 1); };

  float sums[each][count] = {};
#pragma unroll 2
  for (int64_t k = first + threadIdx.x % team_threads * width; k < end; k += team_threads * width) {
    Pack<Number, width> matrix[each];
#pragma unroll
    for (int e = 0; e < each; ++e)
      matrix[e] = vector_along<quads>(
          wide, k, end, [&](int64_t at) { return sides.wide_at(batch, row_of(e), static_cast<Index>(at)); });
#pragma unroll
    for (int t = 0; t < count; ++t) {
      const Pack<Number, width> vector = vector_along<quads>(thin, k, end, [&](int64_t at) {
        return sides.thin_at(batch, vector_of(t), static_cast<Index>(at));
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
  if (mine >= teams * each * count || block0 + row >= sides.wide() || of_team % count >= sides.thin()) return;
  float sum = 0.0f;
#pragma unroll
  for (int warp = 0; warp < team_warps; ++warp)
    sum += of_warps[mine / (each * count) * team_warps + warp][of_team];
  const Index w = block0 + row, t = static_cast<Index>(of_team % count);
  store(segment, batch, sides.row(w, t), sides.column(w, t), sum);
}

// Wide matrix with its other side contiguous: a block takes 32 vectors of columns, and each warp every eighth
// step of the depth.
template <class Product, bool thin_rows, int count, int64_t segment_depth, bool quads, class Store>
__global__ void __launch_bounds__(vector_threads)
    vector_by_side(const typename Product::Left* __restrict__ wide,
                   const typename Product::Left* __restrict__ thin, Store store, Product product) {
  wait_for_previous_kernel();
  const VectorSides<Product, thin_rows> sides{product};
  using Index = typename Product::Index;
  using Number = typename Product::Left;
  constexpr int warps = vector_threads / 32, width = vector_width<Number>, across = 32 * width;
  const int64_t groups = (sides.wide() + across - 1) / across;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t w0 = blockIdx.x % groups * across;
  const Index batch = static_cast<Index>(blockIdx.x / groups % product.batches);
  const int64_t segment = blockIdx.x / groups / product.batches;
  const int64_t first = segment * segment_depth;
  const int64_t end = first + segment_depth < product.depth ? first + segment_depth : product.depth;
  auto vector_of = [&](int t) { return t < sides.thin() ? static_cast<Index>(t) : sides.thin() - 1; };

  float sums[count][width] = {};
  const int64_t w = w0 + lane * width;
  if (w < sides.wide()) {
#pragma unroll 4
    for (int64_t k = first + warp; k < end; k += warps) {
      const Pack<Number, width> matrix = vector_along<quads>(wide, w, sides.wide(), [&](int64_t at) {
        return sides.wide_at(batch, static_cast<Index>(at), static_cast<Index>(k));
      });
#pragma unroll
      for (int t = 0; t < count; ++t) {
        const auto vector =
            static_cast<float>(thin[sides.thin_at(batch, vector_of(t), static_cast<Index>(k))]);
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
    if (w0 + column >= sides.wide() || t >= sides.thin()) continue;
    float sum = 0.0f;
#pragma unroll
    for (int each = 0; each < warps; ++each) sum += of_warps[each][t][column];
    const Index at = static_cast<Index>(w0 + column);
    store(segment, batch, sides.row(at, static_cast<Index>(t)), sides.column(at, static_cast<Index>(t)), sum);
  }
}

// `count`: vectors at most; `segments`: of the depth, whose sums are in `partial` (segments, batches, rows,
// columns) if there is more than one. `quads`: a thread's 16 bytes are contiguous, and aligned if the tensor
// is.
template <bool thin_rows, int count, bool depth_inside, int64_t segment_depth, int segments, int teams,
          bool quads, class Product, class Epilogue>
StitchStatus enqueue_vector_product(const char* name, Product product, const typename Product::Left* left,
                                    const typename Product::Right* right, float* partial,
                                    typename Product::Out* out, Epilogue epilogue, cudaStream_t stream) {
  using Number = typename Product::Left;
  static_assert(std::is_same_v<Number, typename Product::Right>, "operands of one type");
  constexpr int64_t per_block = !depth_inside ? 32 * vector_width<Number> : teams * (count <= 4 ? 4 : 2);
  const int64_t wide_side = VectorSides<Product, thin_rows>{product}.wide();
  const Geometry geometry{blocks_of(divide_up(wide_side, per_block) * product.batches * segments),
                          vector_threads};
  const Number *wide = thin_rows ? right : left, *thin = thin_rows ? left : right;
  const bool aligned =
      reinterpret_cast<uintptr_t>(wide) % 16 == 0 && reinterpret_cast<uintptr_t>(thin) % 16 == 0;
  auto run = [&](auto store) {
    using Store = decltype(store);
    if constexpr (depth_inside) {
      if constexpr (quads)
        if (aligned)
          return launch(name, vector_by_depth<Product, thin_rows, count, segment_depth, teams, true, Store>,
                        geometry, stream, wide, thin, store, product);
      return launch(name, vector_by_depth<Product, thin_rows, count, segment_depth, teams, false, Store>,
                    geometry, stream, wide, thin, store, product);
    } else {
      if constexpr (quads)
        if (aligned)
          return launch(name, vector_by_side<Product, thin_rows, count, segment_depth, true, Store>, geometry,
                        stream, wide, thin, store, product);
      return launch(name, vector_by_side<Product, thin_rows, count, segment_depth, false, Store>, geometry,
                    stream, wide, thin, store, product);
    }
  };
  if constexpr (segments == 1) {
    return run(VectorStore<Product, true, typename Product::Out, Epilogue>{out, epilogue, product});
  } else {
    STITCH_OK_OR_RETURN(run(VectorStore<Product, false, float, NoEpilogue>{partial, {}, product}));
    return finish_product<segments, 1, false>(name, product, partial, out, epilogue, stream);
  }
}

}  // namespace stitch
