// Attention of few queries over many keys, as in a step of decoding: k and v are read once, and that is all
// that counts. FP32 on the CUDA cores, whatever type is stored. `lanes` of a warp share a key, four
// neighbours of its row each, and keep `rows` queries: those of `group` heads that read the same k and v. A
// warp reads `ahead` keys for each of its teams of lanes before it multiplies any; every team has a softmax
// of its own (running maximum and sum) and meets the others at the end, in registers, then in shared memory.
// `splits` blocks share the keys of a head; the last of them to finish combines what all have left in
// `partial`, in their order, so results repeat to the bit. Later keys may lie in other tensors: a cache and
// what is appended to it are read where they are. Besides what attention_heads.h asks for:
//     static constexpr int rows, warps, ahead, group, splits;
//     static constexpr Index k_joint, v_joint;  // the first key that lies elsewhere; `keys`: none
//     static constexpr bool quads;  // four neighbours in a row of q, k and v lie side by side, at their size
//     __device__ static Index k_tail(Index head, Index key, Index i);  // also v_tail; from the joint on
#pragma once

#include <cfloat>

#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/matmul.h"

namespace stitch {
template <class H>
struct FewQueries {
  using Index = typename H::Index;
  static constexpr int widest = H::width > H::value_width ? H::width : H::value_width;
  static constexpr int lanes_of(int quads) { return quads <= 1 ? 1 : 2 * lanes_of((quads + 1) / 2); }
  static constexpr int quads = (widest + 3) / 4, lanes = quads >= 32 ? 32 : lanes_of(quads);
  static constexpr int chunks = (quads + lanes - 1) / lanes;  // of four neighbours, a lane
  static constexpr int teams = 32 / lanes, threads = H::warps * 32, at_once = teams * H::ahead;
  static constexpr Index all_rows = H::group * H::queries, row_tiles = (all_rows + H::rows - 1) / H::rows;
  static constexpr Index seen = H::causal && H::queries < H::keys ? H::queries : H::keys;  // by any query
  static constexpr Index keys_per_split = (seen + H::splits - 1) / H::splits;
  static constexpr Index tiles = H::heads / H::group * row_tiles;
  static constexpr int row_quads = (H::value_width + 3) / 4, pitch = 4 * row_quads;  // of a row of results
  // Of `partial`: for each tile and split the rows' sums, behind them all their largest scores and totals.
  static constexpr int64_t sums = int64_t{tiles} * H::splits * H::rows * pitch;
  static constexpr float log2_e = 1.4426950408889634f;
};

using FourFloats = Pack<float, 4>;

// Four neighbours from i on; zeros behind the row's end, and where there is nothing.
template <bool vectors, int width, class Number, class At>
__device__ __forceinline__ FourFloats four_of(const Number* __restrict__ from, int i, bool there, At at) {
  FourFloats out = {};
  if constexpr (vectors) {
    if (there && i < width) {
      const Pack<Number, 4> four = load<4>(from + at(i), 0);
#pragma unroll
      for (int e = 0; e < 4; ++e) out[e] = static_cast<float>(four[e]);
    }
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (there && i + e < width) out[e] = static_cast<float>(from[at(i + e)]);
  }
  return out;
}

// What a lane has of a row: sums are weighed relative to the largest score so far.
template <class H>
struct FewRow {
  FourFloats q[FewQueries<H>::chunks], sums[FewQueries<H>::chunks] = {};
  float most = -FLT_MAX, total = 0.0f;

  __device__ __forceinline__ void rescale(float next) {
    const float ratio = exp2f((most - next) * FewQueries<H>::log2_e);
    most = next;
    total *= ratio;
#pragma unroll
    for (int c = 0; c < FewQueries<H>::chunks; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[c][e] *= ratio;
  }
  // With the row of the lane that `mask` says.
  __device__ __forceinline__ void meet(int mask) {
    if constexpr (H::weights != Weights::relu) {
      const float other = __shfl_xor_sync(0xffffffffu, most, mask);
      rescale(fmaxf(most, other));
    }
    total += __shfl_xor_sync(0xffffffffu, total, mask);
#pragma unroll
    for (int c = 0; c < FewQueries<H>::chunks; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[c][e] += __shfl_xor_sync(0xffffffffu, sums[c][e], mask);
  }
};

// A finished row's number, from its sum and the total of its weights.
template <class H, class Epilogue>
__device__ __forceinline__ void store_few(typename H::Index tile, int row, int i, float sum, float total,
                                          typename H::Out* __restrict__ out, Epilogue& epilogue) {
  using F = FewQueries<H>;
  using Index = typename H::Index;
  const Index of_head = tile % F::row_tiles * H::rows + row;
  if (of_head >= F::all_rows || i >= H::value_width) return;
  const Index head = tile / F::row_tiles * H::group + of_head / H::queries, query = of_head % H::queries;
  if constexpr (H::weights == Weights::relu) total = 1.0f;
  const bool nothing = H::weights != Weights::softmax && total == 0.0f;
  out[H::out(head, query, i)] = static_cast<typename H::Out>(
      epilogue(nothing ? 0.0f : sum / total, H::position(head, query, static_cast<Index>(i))));
}

// The last block of a tile adds up what all splits have left. `scales`: (rows, splits), `lines`: (threads,
// 4).
template <class H, class Epilogue>
__device__ __forceinline__ void combine_few(typename H::Index tile, const float* partial, float* scales,
                                            float* lines, float* totals, typename H::Out* __restrict__ out,
                                            Epilogue& epilogue) {
  using F = FewQueries<H>;
  constexpr int quads = H::rows * F::row_quads,
                slices = F::threads / quads > 1 ? F::threads / quads : 1;  // of the splits, side by side
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const float* stats = partial + F::sums + int64_t{tile} * H::splits * H::rows * 2;
  for (int row = thread / 32; row < H::rows; row += H::warps) {
    float most = -FLT_MAX, total = 0.0f;
    for (int s = lane; s < H::splits; s += 32) most = fmaxf(most, stats[(s * H::rows + row) * 2]);
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
    for (int s = lane; s < H::splits; s += 32) {
      const float scale = exp2f((stats[(s * H::rows + row) * 2] - most) * F::log2_e);
      scales[row * H::splits + s] = scale;
      total += stats[(s * H::rows + row) * 2 + 1] * scale;
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    if (lane == 0) totals[row] = total;
  }
  __syncthreads();
  const float* sums = partial + int64_t{tile} * H::splits * H::rows * F::pitch;
  const int slice = thread / quads;
  for (int quad = slices > 1 ? thread % quads : thread; quad < quads; quad += F::threads) {
    const int row = quad / F::row_quads;
    FourFloats sum = {};
    if (slice < slices || slices == 1) {
#pragma unroll 16
      for (int s = slices > 1 ? slice : 0; s < H::splits; s += slices) {
        const FourFloats each = load<4>(sums, int64_t{s} * quads + quad);
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[e] += each[e] * scales[row * H::splits + s];
      }
    }
    if constexpr (slices > 1) {
      store<4>(lines, thread, sum);
      __syncthreads();
      if (slice == 0) {
#pragma unroll
        for (int other = 1; other < slices; ++other) {
          const FourFloats each = load<4>(lines, thread + other * quads);
#pragma unroll
          for (int e = 0; e < 4; ++e) sum[e] += each[e];
        }
      }
    }
    if (slices > 1 && slice > 0) break;
#pragma unroll
    for (int e = 0; e < 4; ++e)
      store_few<H>(tile, row, quad % F::row_quads * 4 + e, sum[e], totals[row], out, epilogue);
  }
}

template <class H, bool vectors, class Epilogue>
__global__ void __launch_bounds__(H::warps * 32)
    attention_of_few(const typename H::Query* __restrict__ q, const typename H::Key* __restrict__ k,
                     const typename H::Value* __restrict__ v, const typename H::Key* __restrict__ k_tail,
                     const typename H::Value* __restrict__ v_tail, const typename H::Mask* __restrict__ mask,
                     typename H::Out* __restrict__ out, float* partial, unsigned* finished,
                     Epilogue epilogue) {
  using F = FewQueries<H>;
  using Index = typename H::Index;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32 % F::lanes,
            team = thread % 32 / F::lanes;
  const Index tile = static_cast<Index>(blockIdx.x) / H::splits,
              split = static_cast<Index>(blockIdx.x) % H::splits;
  const Index head0 = tile / F::row_tiles * H::group, row0 = tile % F::row_tiles * H::rows;
  const Index first = split * F::keys_per_split,
              last = first + F::keys_per_split < F::seen ? first + F::keys_per_split : F::seen;
  // Rows past the last compute what the last does, and nobody stores it.
  auto row_of = [&](int r) { return row0 + r < F::all_rows ? row0 + r : F::all_rows - 1; };
  auto head_of = [&](int r) { return head0 + row_of(r) / H::queries; };
  auto query_of = [&](int r) { return row_of(r) % H::queries; };

  FewRow<H> rows[H::rows];
#pragma unroll
  for (int r = 0; r < H::rows; ++r)
#pragma unroll
    for (int c = 0; c < F::chunks; ++c)
      rows[r].q[c] = four_of<vectors, H::width>(q, (c * F::lanes + lane) * 4, true, [&](int i) {
        return H::q(head_of(r), query_of(r), static_cast<Index>(i));
      });

  for (Index key0 = first + warp * F::at_once; key0 < last; key0 += H::warps * F::at_once) {
    auto key_of = [&](int u) { return key0 + u * F::teams + team; };
    // A warp whose queries keep none of its keys doesn't read them: most of a cache that is longer than what
    // is in it.
    if constexpr (H::masking == Masking::keeping) {
      bool any = false;
#pragma unroll
      for (int u = 0; u < H::ahead; ++u)
#pragma unroll
        for (int r = 0; r < H::rows; ++r)
          if (key_of(u) < last) any |= mask[H::mask(head_of(r), query_of(r), key_of(u))];
      if (!__any_sync(0xffffffffu, any)) continue;
    }
    FourFloats keys[H::ahead][F::chunks], values[H::ahead][F::chunks];
#pragma unroll
    for (int u = 0; u < H::ahead; ++u) {
      const Index key = key_of(u);
      const bool there = key < last, k_behind = H::k_joint < H::keys && key >= H::k_joint,
                 v_behind = H::v_joint < H::keys && key >= H::v_joint;
#pragma unroll
      for (int c = 0; c < F::chunks; ++c) {
        const int i = (c * F::lanes + lane) * 4;
        keys[u][c] = four_of<vectors, H::width>(k_behind ? k_tail : k, i, there, [&](int at) {
          return k_behind ? H::k_tail(head0, key - H::k_joint, static_cast<Index>(at))
                          : H::k(head0, key, static_cast<Index>(at));
        });
        values[u][c] = four_of<vectors, H::value_width>(v_behind ? v_tail : v, i, there, [&](int at) {
          return v_behind ? H::v_tail(head0, key - H::v_joint, static_cast<Index>(at))
                          : H::v(head0, key, static_cast<Index>(at));
        });
      }
    }
#pragma unroll
    for (int r = 0; r < H::rows; ++r) {
      FewRow<H>& row = rows[r];
      float scores[H::ahead];
#pragma unroll
      for (int u = 0; u < H::ahead; ++u) {
        float product = 0.0f;
#pragma unroll
        for (int c = 0; c < F::chunks; ++c)
#pragma unroll
          for (int e = 0; e < 4; ++e) product += row.q[c][e] * keys[u][c][e];
#pragma unroll
        for (int mask_of = F::lanes / 2; mask_of > 0; mask_of /= 2)
          product += __shfl_xor_sync(0xffffffffu, product, mask_of);
        const Index key = key_of(u);
        scores[u] = key < last ? attention_score<H>(product, mask, head_of(r), query_of(r), key) : -INFINITY;
      }
      if constexpr (H::weights != Weights::relu) {
        float next = row.most;
#pragma unroll
        for (int u = 0; u < H::ahead; ++u) next = fmaxf(next, scores[u]);
        row.rescale(next);
      }
#pragma unroll
      for (int u = 0; u < H::ahead; ++u) {
        float weight;
        if constexpr (H::weights == Weights::relu)
          weight = scores[u] < 0.0f ? 0.0f : scores[u];  // NaN stays
        else
          weight = exp2f((scores[u] - row.most) * F::log2_e);
        row.total += weight;
#pragma unroll
        for (int c = 0; c < F::chunks; ++c)
#pragma unroll
          for (int e = 0; e < 4; ++e) row.sums[c][e] += weight * values[u][c][e];
      }
    }
  }

  constexpr int numbers = F::lanes * F::chunks * 4;  // of a row, in shared memory
  constexpr int lines =
      H::warps * H::rows * numbers > F::threads * 4 ? H::warps * H::rows * numbers : F::threads * 4;
  __shared__ alignas(16) float of_warps[lines];
  __shared__ float most_of_warps[H::warps][H::rows], total_of_warps[H::warps][H::rows], totals[H::rows];
#pragma unroll
  for (int r = 0; r < H::rows; ++r) {
#pragma unroll
    for (int mask_of = F::lanes; mask_of < 32; mask_of *= 2) rows[r].meet(mask_of);
    if (team == 0) {
#pragma unroll
      for (int c = 0; c < F::chunks; ++c)
        store<4>(of_warps + (warp * H::rows + r) * numbers, c * F::lanes + lane, rows[r].sums[c]);
      if (lane == 0) most_of_warps[warp][r] = rows[r].most, total_of_warps[warp][r] = rows[r].total;
    }
  }
  __syncthreads();
  for (int at = thread; at < H::rows * F::pitch; at += F::threads) {
    const int row = at / F::pitch, i = at % F::pitch;
    float most = most_of_warps[0][row], sum = 0.0f, total = 0.0f;
#pragma unroll
    for (int w = 1; w < H::warps; ++w) most = fmaxf(most, most_of_warps[w][row]);
#pragma unroll
    for (int w = 0; w < H::warps; ++w) {
      const float scale = exp2f((most_of_warps[w][row] - most) * F::log2_e);
      sum += of_warps[(w * H::rows + row) * numbers + i] * scale;
      total += total_of_warps[w][row] * scale;
    }
    if constexpr (H::splits == 1) {
      store_few<H>(tile, row, i, sum, total, out, epilogue);
    } else {
      const int64_t of_row = (int64_t{tile} * H::splits + split) * H::rows + row;
      partial[of_row * F::pitch + i] = sum;
      if (i == 0) partial[F::sums + of_row * 2] = most, partial[F::sums + of_row * 2 + 1] = total;
    }
  }
  if constexpr (H::splits > 1) {
    __shared__ float scales[H::rows * H::splits];
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (thread == 0) is_last = atomicAdd(finished + tile, 1u) == static_cast<unsigned>(H::splits) - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    if (thread == 0) finished[tile] = 0;  // for the next call
    combine_few<H>(tile, partial, scales, of_warps, totals, out, epilogue);
  }
}

// `partial` and `finished` (a zero for each tile) only where blocks share the keys.
template <class H, class Epilogue>
StitchStatus enqueue_attention_of_few(const char* name, const typename H::Query* q, const typename H::Key* k,
                                      const typename H::Value* v, const typename H::Key* k_tail,
                                      const typename H::Value* v_tail, const typename H::Mask* mask,
                                      typename H::Out* out, Epilogue epilogue, float* partial,
                                      unsigned* finished, cudaStream_t stream) {
  using F = FewQueries<H>;
  constexpr int64_t blocks = int64_t{F::tiles} * H::splits;
  static_assert(blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  static_assert(H::splits == 1 || F::keys_per_split * (H::splits - 1) < F::seen, "a block without keys");
  const Geometry geometry{static_cast<unsigned>(blocks), static_cast<unsigned>(F::threads)};
  if constexpr (H::quads) {
    auto aligned = [](const auto* pointer) {
      return reinterpret_cast<uintptr_t>(pointer) % (4 * sizeof(*pointer)) == 0;
    };
    if (aligned(q) && aligned(k) && aligned(v) && aligned(k_tail) && aligned(v_tail))
      return launch(name, attention_of_few<H, true, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail,
                    mask, out, partial, finished, epilogue);
  }
  return launch(name, attention_of_few<H, false, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail, mask,
                out, partial, finished, epilogue);
}

inline StitchStatus clear_finished(unsigned* finished, int64_t tiles, cudaStream_t stream) {
  STITCH_CUDA(cudaMemsetAsync(finished, 0, static_cast<size_t>(tiles) * sizeof(unsigned), stream));
  return STITCH_OK;
}

}  // namespace stitch
