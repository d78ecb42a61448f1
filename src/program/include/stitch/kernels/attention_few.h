// Attention of few queries over many keys, as in a step of decoding: k and v are read once, and that is all
// that counts. FP32 on the CUDA cores, whatever type is stored. `lanes` of a warp share a key, `run`
// neighbours of its row each, and keep `rows` queries: those of `group` heads that read the same k and v. A
// warp takes `ahead` keys for each of its teams of lanes at a time; every team has a softmax of its own
// (running maximum and sum) and meets the others at the end, in registers, then in shared memory. While a
// warp multiplies, the keys of its next `stages` - 1 rounds are on their way (cp.async): each lane copies
// what it reads itself, so nobody waits for anybody.
// `splits` blocks share the keys of a head; the last of them to finish combines what all have left in
// `partial`, in their order, so results repeat to the bit. Later keys may lie in other tensors: a cache and
// what is appended to it are read where they are. Besides what attention_heads.h asks for:
//     static constexpr int rows, warps, ahead, group, splits, stages;
//     static constexpr int run;  // 4 or 8 neighbours of a row: 16 bytes of k and v, where stages are above 1
//     static constexpr Index k_joint, v_joint;  // the first key that lies elsewhere; `keys`: none
//     static constexpr bool runs;  // so many neighbours in a row of q, k and v lie side by side, at their
//     size
//     __device__ static Index k_tail(Index head, Index key, Index i);  // also v_tail; from the joint on
#pragma once

#include <cfloat>

#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/runtime/async_copy.h"

namespace stitch {
template <class H>
struct FewQueries {
  using Index = typename H::Index;
  static constexpr int widest = H::width > H::value_width ? H::width : H::value_width;
  static constexpr int lanes_of(int quads) { return quads <= 1 ? 1 : 2 * lanes_of((quads + 1) / 2); }
  static constexpr int run = H::run, all_runs = (widest + run - 1) / run,
                       lanes = all_runs >= 32 ? 32 : lanes_of(all_runs);
  static constexpr int chunks = (all_runs + lanes - 1) / lanes;  // of so many neighbours, a lane
  static constexpr int teams = 32 / lanes, threads = H::warps * 32, at_once = teams * H::ahead;
  static constexpr Index all_rows = H::group * H::queries, row_tiles = (all_rows + H::rows - 1) / H::rows;
  static constexpr Index seen = H::causal && H::queries < H::keys ? H::queries : H::keys;  // by any query
  static constexpr Index keys_per_split = (seen + H::splits - 1) / H::splits;
  static constexpr Index tiles = H::heads / H::group * row_tiles;
  static constexpr int row_quads = (H::value_width + 3) / 4, pitch = 4 * row_quads;  // of a row of results
  // Of `partial`: for each tile and split the rows' sums, behind them all their largest scores and totals.
  static constexpr int64_t sums = int64_t{tiles} * H::splits * H::rows * pitch;
  static constexpr float log2_e = 1.4426950408889634f;
  // Of the ring: 16 bytes a lane for every chunk of k and of v.
  static constexpr int round_packs = H::ahead * 2 * chunks * 32,
                       ring_packs = H::warps * H::stages * round_packs;
  static constexpr size_t shared_bytes =
      static_cast<size_t>(shared_memory::few_attention(H::warps, H::stages, H::ahead, chunks));
};

using FourFloats = Pack<float, 4>;

// Neighbours from i on; zeros behind the row's end, and where there is nothing.
template <bool vectors, int width, int run, class Number, class At>
__device__ __forceinline__ Pack<float, run> run_of(const Number* __restrict__ from, int i, bool there,
                                                   At at) {
  Pack<float, run> out = {};
  if constexpr (vectors) {
    if (there && i < width) {
#pragma unroll
      for (int j = 0; j < run; j += 4) {
        const Pack<Number, 4> four = load<4>(from + at(i + j), 0);
#pragma unroll
        for (int e = 0; e < 4; ++e) out[j + e] = static_cast<float>(four[e]);
      }
    }
  } else {
#pragma unroll
    for (int e = 0; e < run; ++e)
      if (there && i + e < width) out[e] = static_cast<float>(from[at(i + e)]);
  }
  return out;
}

// What a lane has of a row: sums are weighed relative to the largest score so far.
template <class H>
struct FewRow {
  using Run = Pack<float, H::run>;
  Run q[FewQueries<H>::chunks], sums[FewQueries<H>::chunks] = {};
  float most = -FLT_MAX, total = 0.0f;

  __device__ __forceinline__ void rescale(float next) {
    const float ratio = exp2f((most - next) * FewQueries<H>::log2_e);
    most = next;
    total *= ratio;
#pragma unroll
    for (int c = 0; c < FewQueries<H>::chunks; ++c)
#pragma unroll
      for (int e = 0; e < H::run; ++e) sums[c][e] *= ratio;
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
      for (int e = 0; e < H::run; ++e) sums[c][e] += __shfl_xor_sync(0xffffffffu, sums[c][e], mask);
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

// What a warp reads in a round, in registers.
template <class H>
struct FewKeys {
  using Run = Pack<float, H::run>;
  Run keys[H::ahead][FewQueries<H>::chunks], values[H::ahead][FewQueries<H>::chunks];
};

// A round's keys for one row: scores, then weights and sums.
template <class H, class KeyOf>
__device__ __forceinline__ void attend_few(FewRow<H>& row, const FewKeys<H>& read,
                                           const typename H::Mask* __restrict__ mask, typename H::Index head,
                                           typename H::Index query, typename H::Index last, KeyOf key_of) {
  using F = FewQueries<H>;
  float scores[H::ahead];
#pragma unroll
  for (int u = 0; u < H::ahead; ++u) {
    float product = 0.0f;
#pragma unroll
    for (int c = 0; c < F::chunks; ++c)
#pragma unroll
      for (int e = 0; e < F::run; ++e) product += row.q[c][e] * read.keys[u][c][e];
#pragma unroll
    for (int mask_of = F::lanes / 2; mask_of > 0; mask_of /= 2)
      product += __shfl_xor_sync(0xffffffffu, product, mask_of);
    const typename H::Index key = key_of(u);
    scores[u] = key < last ? attention_score<H>(product, mask, head, query, key) : -INFINITY;
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
      for (int e = 0; e < F::run; ++e) row.sums[c][e] += weight * read.values[u][c][e];
  }
}

template <class H, bool vectors, class Epilogue>
__global__ void __launch_bounds__(H::warps * 32)
    attention_of_few(const typename H::Query* __restrict__ q, const typename H::Key* __restrict__ k,
                     const typename H::Value* __restrict__ v, const typename H::Key* __restrict__ k_tail,
                     const typename H::Value* __restrict__ v_tail, const typename H::Mask* __restrict__ mask,
                     typename H::Out* __restrict__ out, float* partial, unsigned* finished,
                     Epilogue epilogue) {
  wait_for_previous_kernel();
  using F = FewQueries<H>;
  using Index = typename H::Index;
  constexpr bool ring = vectors && H::stages > 1;
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
  auto key_in = [&](Index key0, int u) { return key0 + u * F::teams + team; };

  // The first round from here on that is this warp's to read. A warp whose queries keep none of its keys
  // doesn't read them: most of a cache that is longer than what is in it.
  auto next_round = [&](Index key0) {
    if constexpr (H::masking == Masking::keeping) {
      for (; key0 < last; key0 += H::warps * F::at_once) {
        bool any = false;
#pragma unroll
        for (int u = 0; u < H::ahead; ++u)
#pragma unroll
          for (int r = 0; r < H::rows; ++r)
            if (key_in(key0, u) < last) any |= mask[H::mask(head_of(r), query_of(r), key_in(key0, u))];
        if (__any_sync(0xffffffffu, any)) break;
      }
    }
    return key0;
  };
  extern __shared__ uint4 few_shared[];
  auto fetch = [&](Index key0, int stage) {
    uint4* to = few_shared + (warp * H::stages + stage) * F::round_packs + thread % 32;
#pragma unroll
    for (int u = 0; u < H::ahead; ++u) {
      const Index key = key_in(key0, u);
      const bool there = key < last, k_behind = H::k_joint < H::keys && key >= H::k_joint,
                 v_behind = H::v_joint < H::keys && key >= H::v_joint;
#pragma unroll
      for (int c = 0; c < F::chunks; ++c) {
        const Index i = (c * F::lanes + lane) * F::run;
        const bool k_there = there && i < H::width, v_there = there && i < H::value_width;
        const auto* k_from = k_behind ? k_tail + (k_there ? H::k_tail(head0, key - H::k_joint, i) : 0)
                                      : k + (k_there ? H::k(head0, key, i) : 0);
        const auto* v_from = v_behind ? v_tail + (v_there ? H::v_tail(head0, key - H::v_joint, i) : 0)
                                      : v + (v_there ? H::v(head0, key, i) : 0);
        copy_16_bytes(to + (u * 2 * F::chunks + c) * 32, k_from, k_there);
        copy_16_bytes(to + ((u * 2 + 1) * F::chunks + c) * 32, v_from, v_there);
      }
    }
  };
  auto arrived = [&](FewKeys<H>& read, int stage) {
    const uint4* from = few_shared + (warp * H::stages + stage) * F::round_packs + thread % 32;
#pragma unroll
    for (int u = 0; u < H::ahead; ++u)
#pragma unroll
      for (int c = 0; c < F::chunks; ++c) {
        const uint4 key = from[(u * 2 * F::chunks + c) * 32],
                    value = from[((u * 2 + 1) * F::chunks + c) * 32];
        const auto* of_key = reinterpret_cast<const typename H::Key*>(&key);
        const auto* of_value = reinterpret_cast<const typename H::Value*>(&value);
#pragma unroll
        for (int e = 0; e < F::run; ++e) {
          read.keys[u][c][e] = static_cast<float>(of_key[e]);
          read.values[u][c][e] = static_cast<float>(of_value[e]);
        }
      }
  };
  auto loaded = [&](FewKeys<H>& read, Index key0) {
#pragma unroll
    for (int u = 0; u < H::ahead; ++u) {
      const Index key = key_in(key0, u);
      const bool there = key < last, k_behind = H::k_joint < H::keys && key >= H::k_joint,
                 v_behind = H::v_joint < H::keys && key >= H::v_joint;
#pragma unroll
      for (int c = 0; c < F::chunks; ++c) {
        const int i = (c * F::lanes + lane) * F::run;
        read.keys[u][c] = run_of<vectors, H::width, F::run>(k_behind ? k_tail : k, i, there, [&](int at) {
          return k_behind ? H::k_tail(head0, key - H::k_joint, static_cast<Index>(at))
                          : H::k(head0, key, static_cast<Index>(at));
        });
        read.values[u][c] =
            run_of<vectors, H::value_width, F::run>(v_behind ? v_tail : v, i, there, [&](int at) {
              return v_behind ? H::v_tail(head0, key - H::v_joint, static_cast<Index>(at))
                              : H::v(head0, key, static_cast<Index>(at));
            });
      }
    }
  };

  constexpr Index step = H::warps * F::at_once;
  Index key0 = next_round(first + warp * F::at_once), ahead = key0;  // `ahead`: the next to be fetched
  if constexpr (ring) {
#pragma unroll
    for (int stage = 0; stage < H::stages - 1; ++stage) {
      if (ahead < last) {
        fetch(ahead, stage);
        ahead = next_round(ahead + step);
      }
      close_copies();
    }
  }
  FewRow<H> rows[H::rows];
#pragma unroll
  for (int r = 0; r < H::rows; ++r)
#pragma unroll
    for (int c = 0; c < F::chunks; ++c)
      rows[r].q[c] = run_of<vectors, H::width, F::run>(q, (c * F::lanes + lane) * F::run, true, [&](int i) {
        return H::q(head_of(r), query_of(r), static_cast<Index>(i));
      });

  for (int stage = 0; key0 < last;) {
    FewKeys<H> read;
    if constexpr (ring) {
      wait_for_copies<H::stages - 2>();
      arrived(read, stage);
      // Where the round before this one was: its numbers are long in registers.
      if (ahead < last) {
        fetch(ahead, stage == 0 ? H::stages - 1 : stage - 1);
        ahead = next_round(ahead + step);
      }
      close_copies();
      stage = stage + 1 == H::stages ? 0 : stage + 1;
    } else {
      loaded(read, key0);
    }
#pragma unroll
    for (int r = 0; r < H::rows; ++r)
      attend_few<H>(rows[r], read, mask, head_of(r), query_of(r), last,
                    [&](int u) { return key_in(key0, u); });
    key0 = next_round(key0 + step);
  }

  constexpr int numbers = F::lanes * F::chunks * F::run;  // of a row, in shared memory
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
#pragma unroll
        for (int j = 0; j < F::run; j += 4) {
          FourFloats four;
#pragma unroll
          for (int e = 0; e < 4; ++e) four[e] = rows[r].sums[c][j + e];
          store<4>(of_warps + (warp * H::rows + r) * numbers, ((c * F::lanes + lane) * F::run + j) / 4, four);
        }
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
  Geometry geometry{static_cast<unsigned>(blocks), static_cast<unsigned>(F::threads)};
  if constexpr (H::runs) {
    static_assert(H::stages == 1 ||
                      (H::run * sizeof(typename H::Key) == 16 && H::run * sizeof(typename H::Value) == 16),
                  "copies are of 16 bytes");
    auto aligned = [](const auto* pointer) {
      constexpr size_t bytes = H::run * sizeof(*pointer);
      return reinterpret_cast<uintptr_t>(pointer) % (bytes < 16 ? bytes : 16) == 0;
    };
    if (aligned(q) && aligned(k) && aligned(v) && aligned(k_tail) && aligned(v_tail)) {
      geometry.shared_bytes = F::shared_bytes;
      return launch(name, attention_of_few<H, true, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail,
                    mask, out, partial, finished, epilogue);
    }
  }
  return launch(name, attention_of_few<H, false, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail, mask,
                out, partial, finished, epilogue);
}

inline StitchStatus clear_finished(unsigned* finished, int64_t tiles, cudaStream_t stream) {
  STITCH_CUDA(cudaMemsetAsync(finished, 0, static_cast<size_t>(tiles) * sizeof(unsigned), stream));
  return STITCH_OK;
}

}  // namespace stitch
