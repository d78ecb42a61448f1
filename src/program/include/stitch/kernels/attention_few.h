// Attention of few queries over many keys, as in a decoding step. Bound by reading k and v once. FP32 on the
// CUDA cores for any stored type. A team of `lanes` of a warp shares a key, `run` adjacent elements of its
// row per lane, and holds `rows` queries: those of `group` heads that read the same k and v. A warp takes
// `ahead` keys per team at a time; every team has its own online softmax (running maximum and sum), merged at
// the end in registers, then in shared memory. The keys of the next `stages` - 1 rounds are prefetched
// (cp.async): each lane copies what it reads itself, so no barrier is needed.
// `splits` blocks share the keys of a head; the last to finish combines the partial results in `partial` in a
// fixed order, so results are bitwise reproducible. Later keys may be in other tensors: a cache and the
// tensor appended to it are read in place. Besides attention_heads.h:
//     static constexpr int rows, warps, ahead, group, splits, stages;
//     static constexpr int run;  // 4 or 8 elements: 16 bytes of k and v if stages > 1
//     static constexpr Index k_joint, v_joint;  // the first key in the other tensor; `keys`: none
//     static constexpr bool runs;  // runs of q, k and v are contiguous and aligned to their size
//     __device__ static Index k_tail(Index head, Index key, Index i);  // also v_tail; from the joint on
#pragma once

#include <cfloat>

#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/runtime/async_copy.h"

namespace stitch {
template <class Heads>
struct FewQueries {
  using Index = typename Heads::Index;
  static constexpr int widest = Heads::width > Heads::value_width ? Heads::width : Heads::value_width;
  static constexpr int lanes_of(int quads) { return quads <= 1 ? 1 : 2 * lanes_of((quads + 1) / 2); }
  static constexpr int run = Heads::run, all_runs = (widest + run - 1) / run,
                       lanes = all_runs >= 32 ? 32 : lanes_of(all_runs);
  static constexpr int chunks = (all_runs + lanes - 1) / lanes;  // runs per lane
  static constexpr int teams = 32 / lanes, threads = Heads::warps * 32, at_once = teams * Heads::ahead;
  static constexpr int row_quads = (Heads::value_width + 3) / 4, pitch = 4 * row_quads;  // per row of results
  static constexpr float log2_e = 1.4426950408889634f;
  // The ring buffer: 16 bytes per lane for every chunk of k and v.
  static constexpr int round_packs = Heads::ahead * 2 * chunks * 32,
                       ring_packs = Heads::warps * Heads::stages * round_packs;
  static constexpr size_t shared_bytes =
      static_cast<size_t>(shared_memory::few_attention(Heads::warps, Heads::stages, Heads::ahead, chunks));
};

// How a grid shares the work.
template <class Heads>
struct FewTiles {
  using Index = typename Heads::Index;
  Index all_rows, row_tiles, tiles;
  Index seen, keys_per_split;  // keys visible to any query
  int64_t sums;  // `partial`: the rows' sums for each tile and split, then their maxima and totals

  __host__ __device__ explicit constexpr FewTiles(Heads heads)
      : all_rows(Heads::group * heads.queries),
        row_tiles((all_rows + Heads::rows - 1) / Heads::rows),
        tiles(heads.heads / Heads::group * row_tiles),
        seen(Heads::causal && heads.queries < heads.keys ? heads.queries : heads.keys),
        keys_per_split((seen + Heads::splits - 1) / Heads::splits),
        sums(int64_t{tiles} * Heads::splits * Heads::rows * FewQueries<Heads>::pitch) {}
};

using FourFloats = Pack<float, 4>;

// `run` elements from i on; zeros past the end of the row and for absent rows.
template <bool vectors, int width, int run, class Number, class At>
__device__ __forceinline__ Pack<float, run> run_of(const Number* __restrict__ from, int i, bool valid,
                                                   At at) {
  Pack<float, run> out = {};
  if constexpr (vectors) {
    if (valid && i < width) {
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
      if (valid && i + e < width) out[e] = static_cast<float>(from[at(i + e)]);
  }
  return out;
}

// A lane's part of a row: sums are weighted relative to the running maximum.
template <class Heads>
struct FewRow {
  using Run = Pack<float, Heads::run>;
  Run q[FewQueries<Heads>::chunks], sums[FewQueries<Heads>::chunks] = {};
  float most = -FLT_MAX, total = 0.0f;

  __device__ __forceinline__ void rescale(float next) {
    const float ratio = exp2f((most - next) * FewQueries<Heads>::log2_e);
    most = next;
    total *= ratio;
#pragma unroll
    for (int c = 0; c < FewQueries<Heads>::chunks; ++c)
#pragma unroll
      for (int e = 0; e < Heads::run; ++e) sums[c][e] *= ratio;
  }
  // Merges with the lane at `mask`.
  __device__ __forceinline__ void merge(int mask) {
    if constexpr (Heads::weights != Weights::relu) {
      const float other = __shfl_xor_sync(0xffffffffu, most, mask);
      rescale(fmaxf(most, other));
    }
    total += __shfl_xor_sync(0xffffffffu, total, mask);
#pragma unroll
    for (int c = 0; c < FewQueries<Heads>::chunks; ++c)
#pragma unroll
      for (int e = 0; e < Heads::run; ++e) sums[c][e] += __shfl_xor_sync(0xffffffffu, sums[c][e], mask);
  }
};

// An element of a finished row, from its sum and the total of its weights.
template <class Heads, class Epilogue>
__device__ __forceinline__ void store_few(Heads heads, typename Heads::Index tile, int row, int i, float sum,
                                          float total, typename Heads::Out* __restrict__ out,
                                          Epilogue& epilogue) {
  using Index = typename Heads::Index;
  const FewTiles<Heads> few(heads);
  const Index of_head = tile % few.row_tiles * Heads::rows + row;
  if (of_head >= few.all_rows || i >= Heads::value_width) return;
  const Index head = tile / few.row_tiles * Heads::group + of_head / heads.queries,
              query = of_head % heads.queries;
  if constexpr (Heads::weights == Weights::relu) total = 1.0f;
  const bool nothing = Heads::weights != Weights::softmax && total == 0.0f;
  out[heads.out(head, query, i)] = static_cast<typename Heads::Out>(
      epilogue(nothing ? 0.0f : sum / total, heads.position(head, query, static_cast<Index>(i))));
}

// The last block of a tile combines all splits. `scales`: (rows, splits), `lines`: (threads, 4).
template <class Heads, class Epilogue>
__device__ __forceinline__ void combine_few(Heads heads, typename Heads::Index tile, const float* partial,
                                            float* scales, float* lines, float* totals,
                                            typename Heads::Out* __restrict__ out, Epilogue& epilogue) {
  using Few = FewQueries<Heads>;
  constexpr int quads = Heads::rows * Few::row_quads,
                slices = Few::threads / quads > 1 ? Few::threads / quads : 1;  // of the splits, in parallel
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const float* stats =
      partial + FewTiles<Heads>(heads).sums + int64_t{tile} * Heads::splits * Heads::rows * 2;
  for (int row = thread / 32; row < Heads::rows; row += Heads::warps) {
    float most = -FLT_MAX, total = 0.0f;
    for (int s = lane; s < Heads::splits; s += 32) most = fmaxf(most, stats[(s * Heads::rows + row) * 2]);
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
    for (int s = lane; s < Heads::splits; s += 32) {
      const float scale = exp2f((stats[(s * Heads::rows + row) * 2] - most) * Few::log2_e);
      scales[row * Heads::splits + s] = scale;
      total += stats[(s * Heads::rows + row) * 2 + 1] * scale;
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    if (lane == 0) totals[row] = total;
  }
  __syncthreads();
  const float* sums = partial + int64_t{tile} * Heads::splits * Heads::rows * Few::pitch;
  const int slice = thread / quads;
  for (int quad = slices > 1 ? thread % quads : thread; quad < quads; quad += Few::threads) {
    const int row = quad / Few::row_quads;
    FourFloats sum = {};
    if (slice < slices || slices == 1) {
#pragma unroll 16
      for (int s = slices > 1 ? slice : 0; s < Heads::splits; s += slices) {
        const FourFloats each = load<4>(sums, int64_t{s} * quads + quad);
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[e] += each[e] * scales[row * Heads::splits + s];
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
      store_few(heads, tile, row, quad % Few::row_quads * 4 + e, sum[e], totals[row], out, epilogue);
  }
}

// A round's keys and values of a warp, in registers.
template <class Heads>
struct FewKeys {
  using Run = Pack<float, Heads::run>;
  Run keys[Heads::ahead][FewQueries<Heads>::chunks], values[Heads::ahead][FewQueries<Heads>::chunks];
};

// A round's keys for one row: scores, then weights and sums.
template <class Heads, class KeyOf>
__device__ __forceinline__ void attend_few(Heads heads, FewRow<Heads>& row, const FewKeys<Heads>& read,
                                           const typename Heads::Mask* __restrict__ mask,
                                           typename Heads::Index head, typename Heads::Index query,
                                           typename Heads::Index last, KeyOf key_of) {
  using Few = FewQueries<Heads>;
  float scores[Heads::ahead];
#pragma unroll
  for (int u = 0; u < Heads::ahead; ++u) {
    float product = 0.0f;
#pragma unroll
    for (int c = 0; c < Few::chunks; ++c)
#pragma unroll
      for (int e = 0; e < Few::run; ++e) product += row.q[c][e] * read.keys[u][c][e];
#pragma unroll
    for (int mask_of = Few::lanes / 2; mask_of > 0; mask_of /= 2)
      product += __shfl_xor_sync(0xffffffffu, product, mask_of);
    const typename Heads::Index key = key_of(u);
    scores[u] = key < last ? attention_score(heads, product, mask, head, query, key) : -INFINITY;
  }
  if constexpr (Heads::weights != Weights::relu) {
    float next = row.most;
#pragma unroll
    for (int u = 0; u < Heads::ahead; ++u) next = fmaxf(next, scores[u]);
    row.rescale(next);
  }
#pragma unroll
  for (int u = 0; u < Heads::ahead; ++u) {
    float weight;
    if constexpr (Heads::weights == Weights::relu)
      weight = scores[u] < 0.0f ? 0.0f : scores[u];  // keeps NaN
    else
      weight = exp2f((scores[u] - row.most) * Few::log2_e);
    row.total += weight;
#pragma unroll
    for (int c = 0; c < Few::chunks; ++c)
#pragma unroll
      for (int e = 0; e < Few::run; ++e) row.sums[c][e] += weight * read.values[u][c][e];
  }
}

// What a thread reads of keys, values and the mask: round by round, `ahead` keys of its warp's at a time,
// into registers or through a ring of stages in shared memory.
template <class Heads, bool vectors>
struct FewReader {
  using Few = FewQueries<Heads>;
  using Index = typename Heads::Index;
  const Heads& heads;
  const typename Heads::Key* __restrict__ k, * __restrict__ k_tail;
  const typename Heads::Value* __restrict__ v, * __restrict__ v_tail;
  const typename Heads::Mask* __restrict__ mask;
  uint4* ring;  // this thread's first 16 bytes
  Index head0, row0, all_rows, last;
  int lane, team;

  // Rows past the end repeat the last one and are not stored.
  __device__ __forceinline__ Index row_of(int r) const {
    return row0 + r < all_rows ? row0 + r : all_rows - 1;
  }
  __device__ __forceinline__ Index head_of(int r) const { return head0 + row_of(r) / heads.queries; }
  __device__ __forceinline__ Index query_of(int r) const { return row_of(r) % heads.queries; }
  __device__ __forceinline__ Index key_in(Index key0, int u) const { return key0 + u * Few::teams + team; }

  // This warp's first round from key0 on with a visible key. Fully masked keys aren't read: most of a cache
  // longer than its contents.
  __device__ __forceinline__ Index next_round(Index key0) const {
    if constexpr (Heads::masking == Masking::keeping) {
      for (; key0 < last; key0 += Heads::warps * Few::at_once) {
        bool any = false;
#pragma unroll
        for (int u = 0; u < Heads::ahead; ++u)
#pragma unroll
          for (int r = 0; r < Heads::rows; ++r)
            if (key_in(key0, u) < last) any |= mask[heads.mask(head_of(r), query_of(r), key_in(key0, u))];
        if (__any_sync(0xffffffffu, any)) break;
      }
    }
    return key0;
  }
  // Begins to copy a round into a stage of the ring.
  __device__ __forceinline__ void copy_round(Index key0, int stage) const {
    uint4* to = ring + stage * Few::round_packs;
#pragma unroll
    for (int u = 0; u < Heads::ahead; ++u) {
      const Index key = key_in(key0, u);
      const bool valid = key < last, k_behind = heads.k_joint < heads.keys && key >= heads.k_joint,
                 v_behind = heads.v_joint < heads.keys && key >= heads.v_joint;
#pragma unroll
      for (int c = 0; c < Few::chunks; ++c) {
        const Index i = (c * Few::lanes + lane) * Few::run;
        const bool k_valid = valid && i < Heads::width, v_valid = valid && i < Heads::value_width;
        const auto* k_from = k_behind ? k_tail + (k_valid ? heads.k_tail(head0, key - heads.k_joint, i) : 0)
                                      : k + (k_valid ? heads.k(head0, key, i) : 0);
        const auto* v_from = v_behind ? v_tail + (v_valid ? heads.v_tail(head0, key - heads.v_joint, i) : 0)
                                      : v + (v_valid ? heads.v(head0, key, i) : 0);
        copy_16_bytes(to + (u * 2 * Few::chunks + c) * 32, k_from, k_valid);
        copy_16_bytes(to + ((u * 2 + 1) * Few::chunks + c) * 32, v_from, v_valid);
      }
    }
  }
  __device__ __forceinline__ void take_copied(FewKeys<Heads>& read, int stage) const {
    const uint4* from = ring + stage * Few::round_packs;
#pragma unroll
    for (int u = 0; u < Heads::ahead; ++u)
#pragma unroll
      for (int c = 0; c < Few::chunks; ++c) {
        const uint4 key = from[(u * 2 * Few::chunks + c) * 32],
                    value = from[((u * 2 + 1) * Few::chunks + c) * 32];
        const auto* of_key = reinterpret_cast<const typename Heads::Key*>(&key);
        const auto* of_value = reinterpret_cast<const typename Heads::Value*>(&value);
#pragma unroll
        for (int e = 0; e < Few::run; ++e) {
          read.keys[u][c][e] = static_cast<float>(of_key[e]);
          read.values[u][c][e] = static_cast<float>(of_value[e]);
        }
      }
  }
  __device__ __forceinline__ void load_round(FewKeys<Heads>& read, Index key0) const {
#pragma unroll
    for (int u = 0; u < Heads::ahead; ++u) {
      const Index key = key_in(key0, u);
      const bool valid = key < last, k_behind = heads.k_joint < heads.keys && key >= heads.k_joint,
                 v_behind = heads.v_joint < heads.keys && key >= heads.v_joint;
#pragma unroll
      for (int c = 0; c < Few::chunks; ++c) {
        const int i = (c * Few::lanes + lane) * Few::run;
        read.keys[u][c] =
            run_of<vectors, Heads::width, Few::run>(k_behind ? k_tail : k, i, valid, [&](int at) {
              return k_behind ? heads.k_tail(head0, key - heads.k_joint, static_cast<Index>(at))
                              : heads.k(head0, key, static_cast<Index>(at));
            });
        read.values[u][c] =
            run_of<vectors, Heads::value_width, Few::run>(v_behind ? v_tail : v, i, valid, [&](int at) {
              return v_behind ? heads.v_tail(head0, key - heads.v_joint, static_cast<Index>(at))
                              : heads.v(head0, key, static_cast<Index>(at));
            });
      }
    }
  }
};

template <class Heads, bool vectors, class Epilogue>
__global__ void __launch_bounds__(Heads::warps * 32)
    attention_of_few(const typename Heads::Query* __restrict__ q, const typename Heads::Key* __restrict__ k,
                     const typename Heads::Value* __restrict__ v,
                     const typename Heads::Key* __restrict__ k_tail,
                     const typename Heads::Value* __restrict__ v_tail,
                     const typename Heads::Mask* __restrict__ mask, typename Heads::Out* __restrict__ out,
                     float* partial, unsigned* finished, Epilogue epilogue, Heads heads) {
  wait_for_previous_kernel();
  using Few = FewQueries<Heads>;
  using Index = typename Heads::Index;
  const FewTiles<Heads> few(heads);
  constexpr bool ring = vectors && Heads::stages > 1;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32 % Few::lanes,
            team = thread % 32 / Few::lanes;
  const Index tile = static_cast<Index>(blockIdx.x) / Heads::splits,
              split = static_cast<Index>(blockIdx.x) % Heads::splits;
  const Index head0 = tile / few.row_tiles * Heads::group, row0 = tile % few.row_tiles * Heads::rows;
  const Index first = split * few.keys_per_split,
              last = first + few.keys_per_split < few.seen ? first + few.keys_per_split : few.seen;
  extern __shared__ uint4 few_shared[];
  const FewReader<Heads, vectors> reader{heads,
                                         k,
                                         k_tail,
                                         v,
                                         v_tail,
                                         mask,
                                         few_shared + warp * Heads::stages * Few::round_packs + thread % 32,
                                         head0,
                                         row0,
                                         few.all_rows,
                                         last,
                                         lane,
                                         team};

  constexpr Index step = Heads::warps * Few::at_once;
  Index key0 = reader.next_round(first + warp * Few::at_once),
        ahead = key0;  // `ahead`: the next round to fetch
  if constexpr (ring) {
#pragma unroll
    for (int stage = 0; stage < Heads::stages - 1; ++stage) {
      if (ahead < last) {
        reader.copy_round(ahead, stage);
        ahead = reader.next_round(ahead + step);
      }
      close_copies();
    }
  }
  FewRow<Heads> rows[Heads::rows];
#pragma unroll
  for (int r = 0; r < Heads::rows; ++r)
#pragma unroll
    for (int c = 0; c < Few::chunks; ++c)
      rows[r].q[c] = run_of<vectors, Heads::width, Few::run>(
          q, (c * Few::lanes + lane) * Few::run, true,
          [&](int i) { return heads.q(reader.head_of(r), reader.query_of(r), static_cast<Index>(i)); });

  for (int stage = 0; key0 < last;) {
    FewKeys<Heads> read;
    if constexpr (ring) {
      wait_for_copies<Heads::stages - 2>();
      reader.take_copied(read, stage);
      // Reuses the buffer of the previous round, whose values are in registers.
      if (ahead < last) {
        reader.copy_round(ahead, stage == 0 ? Heads::stages - 1 : stage - 1);
        ahead = reader.next_round(ahead + step);
      }
      close_copies();
      stage = stage + 1 == Heads::stages ? 0 : stage + 1;
    } else {
      reader.load_round(read, key0);
    }
#pragma unroll
    for (int r = 0; r < Heads::rows; ++r)
      attend_few(heads, rows[r], read, mask, reader.head_of(r), reader.query_of(r), last,
                 [&](int u) { return reader.key_in(key0, u); });
    key0 = reader.next_round(key0 + step);
  }

  constexpr int numbers = Few::lanes * Few::chunks * Few::run;  // per row, in shared memory
  constexpr int lines = Heads::warps * Heads::rows * numbers > Few::threads * 4
                            ? Heads::warps * Heads::rows * numbers
                            : Few::threads * 4;
  __shared__ alignas(16) float of_warps[lines];
  __shared__ float most_of_warps[Heads::warps][Heads::rows], total_of_warps[Heads::warps][Heads::rows],
      totals[Heads::rows];
#pragma unroll
  for (int r = 0; r < Heads::rows; ++r) {
#pragma unroll
    for (int mask_of = Few::lanes; mask_of < 32; mask_of *= 2) rows[r].merge(mask_of);
    if (team == 0) {
#pragma unroll
      for (int c = 0; c < Few::chunks; ++c)
#pragma unroll
        for (int j = 0; j < Few::run; j += 4) {
          FourFloats four;
#pragma unroll
          for (int e = 0; e < 4; ++e) four[e] = rows[r].sums[c][j + e];
          store<4>(of_warps + (warp * Heads::rows + r) * numbers,
                   ((c * Few::lanes + lane) * Few::run + j) / 4, four);
        }
      if (lane == 0) most_of_warps[warp][r] = rows[r].most, total_of_warps[warp][r] = rows[r].total;
    }
  }
  __syncthreads();
  for (int at = thread; at < Heads::rows * Few::pitch; at += Few::threads) {
    const int row = at / Few::pitch, i = at % Few::pitch;
    float most = most_of_warps[0][row], sum = 0.0f, total = 0.0f;
#pragma unroll
    for (int w = 1; w < Heads::warps; ++w) most = fmaxf(most, most_of_warps[w][row]);
#pragma unroll
    for (int w = 0; w < Heads::warps; ++w) {
      const float scale = exp2f((most_of_warps[w][row] - most) * Few::log2_e);
      sum += of_warps[(w * Heads::rows + row) * numbers + i] * scale;
      total += total_of_warps[w][row] * scale;
    }
    if constexpr (Heads::splits == 1) {
      store_few(heads, tile, row, i, sum, total, out, epilogue);
    } else {
      const int64_t of_row = (int64_t{tile} * Heads::splits + split) * Heads::rows + row;
      partial[of_row * Few::pitch + i] = sum;
      if (i == 0) partial[few.sums + of_row * 2] = most, partial[few.sums + of_row * 2 + 1] = total;
    }
  }
  if constexpr (Heads::splits > 1) {
    __shared__ float scales[Heads::rows * Heads::splits];
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (thread == 0) is_last = atomicAdd(finished + tile, 1u) == static_cast<unsigned>(Heads::splits) - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    if (thread == 0) finished[tile] = 0;  // reset for the next call
    combine_few(heads, tile, partial, scales, of_warps, totals, out, epilogue);
  }
}

// `partial` and `finished` (a zero per tile) are needed only if splits > 1.
template <class Heads, class Epilogue>
StitchStatus enqueue_attention_of_few(const char* name, Heads heads, const typename Heads::Query* q,
                                      const typename Heads::Key* k, const typename Heads::Value* v,
                                      const typename Heads::Key* k_tail, const typename Heads::Value* v_tail,
                                      const typename Heads::Mask* mask, typename Heads::Out* out,
                                      Epilogue epilogue, float* partial, unsigned* finished,
                                      cudaStream_t stream) {
  using Few = FewQueries<Heads>;
  Geometry geometry{blocks_of(int64_t{FewTiles<Heads>(heads).tiles} * Heads::splits),
                    static_cast<unsigned>(Few::threads)};
  if constexpr (Heads::runs) {
    static_assert(Heads::stages == 1 || (Heads::run * sizeof(typename Heads::Key) == 16 &&
                                         Heads::run * sizeof(typename Heads::Value) == 16),
                  "copies are of 16 bytes");
    auto aligned = [](const auto* pointer) {
      constexpr size_t bytes = Heads::run * sizeof(*pointer);
      return reinterpret_cast<uintptr_t>(pointer) % (bytes < 16 ? bytes : 16) == 0;
    };
    if (aligned(q) && aligned(k) && aligned(v) && aligned(k_tail) && aligned(v_tail)) {
      geometry.shared_bytes = Few::shared_bytes;
      return launch(name, attention_of_few<Heads, true, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail,
                    mask, out, partial, finished, epilogue, heads);
    }
  }
  return launch(name, attention_of_few<Heads, false, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail,
                mask, out, partial, finished, epilogue, heads);
}

inline StitchStatus clear_finished(unsigned* finished, int64_t tiles, cudaStream_t stream) {
  STITCH_CUDA(cudaMemsetAsync(finished, 0, static_cast<size_t>(tiles) * sizeof(unsigned), stream));
  return STITCH_OK;
}

}  // namespace stitch
