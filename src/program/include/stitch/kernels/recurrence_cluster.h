// The steps of one layer of a recurrence, its state never leaving a cluster of blocks. A cluster owns a few
// samples of one direction; a block of it owns hidden units, whose weights lie in registers for all steps.
// Every step multiplies them with the state on tensor cores at FP32's accuracy, each number as two of fp16
// (split_half.h has the idea), and sends the new state to all blocks of the cluster, straight into their
// shared memory. Nothing waits for L2, and clusters don't wait for each other. The input's share of the
// gates, of all steps, was a product before.
//
// A warp owns four units, 16 rows of weights: the gates of one unit in lanes that are neighbours. So two
// shuffles a lane bring all gates of a unit and sample together, and four make 16 bytes of the new state.
#pragma once

#include "stitch/kernels/matmul_tensor_core.h"
#include "stitch/kernels/recurrence.h"
#include "stitch/kernels/split_tile.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/cluster.h"
#include "stitch/runtime/mma.h"

namespace stitch {
// What generated code says of a layer: `Of` has its sizes, and how many blocks and samples a cluster has.
template <class Of>
struct ClusterSizes : Of {
  using Of::batch, Of::cluster, Of::directions, Of::hidden, Of::kind, Of::samples, Of::steps;
  __host__ __device__ static constexpr int up(int count, int by) { return (count + by - 1) / by; }

  static constexpr int gates = gates_of(kind);
  static constexpr int quads = up(hidden, 4);             // of units, 16 bytes of the state each
  static constexpr int units = up(quads, cluster) * 4;    // of a block
  static constexpr int warps = units / 4, threads = warps * 32;
  static constexpr int depth_tiles = up(hidden, 16), sample_tiles = up(samples, 8);
  static constexpr int chunks = up(batch, samples);
  static constexpr int blocks = directions * chunks * cluster;
  // Shared memory: the state of two steps, a row of quads a sample. Four quads beyond a multiple of eight:
  // lanes of two samples meet all banks.
  static constexpr int row = 4 * depth_tiles + (depth_tiles % 2 ? 0 : 4);
  static constexpr int state = 8 * sample_tiles * row;
  // Then the input's share of so many steps, where each lane has its own 16 bytes a tile of samples.
  static constexpr int stages = 4, given = warps * sample_tiles * 32;
  static constexpr int scales_at = (2 * state + stages * given) * 16;
  static constexpr int barriers_at = scales_at + 8 * sample_tiles * 4;
  static constexpr int shared_bytes = barriers_at + 2 * 8;
  static constexpr int arriving_bytes = samples * quads * 16;

  // Which gate a warp's rows are for, of the weights and of the input's share. A gru's last one needs both
  // apart. -1: none.
  __host__ __device__ static constexpr int hidden_gate(int slot) {
    return kind == RecurrenceKind::gru ? (slot == 3 ? 2 : slot == 2 ? -1 : slot) : slot < gates ? slot : -1;
  }
  __host__ __device__ static constexpr int input_gate(int slot) { return slot < gates ? slot : -1; }
};

// One layer in all directions.
template <class Of>
struct ClusterLayer {
  struct Direction {
    const float* given;        // (steps, batch, hidden, gates): the input's share of the gates
    const float* hidden;       // (gates, hidden, hidden)
    const float* input_bias;   // (gates, hidden), or null
    const float* hidden_bias;  // (gates, hidden), or null
  } of[Of::directions];
  const float *h0, *c0;  // (directions, batch, hidden)
  float* y;              // (steps, batch, directions · hidden) or null, strides:
  int64_t y_step, y_sample;
  float *hn, *cn;  // (directions, batch, hidden) or null
};

namespace cluster_steps {

// Small parts are kept 2048 times as large, away from fp16's denormals.
constexpr float small_scale = 2048.0f;

// A number, scaled into fp16's range, as its large and its small part.
__device__ __forceinline__ uint32_t split_word(float x) {
  const float large = __half2float(__float2half_rn(x));
  return half_pair(large, (x - large) * small_scale);
}

// 16 rows of weights: of lane's row group, gate group % 2 of unit group / 2; eight rows further two gates
// further. A row has a scale of its own. Depths are in the order in which lanes have them in a quad.
template <class S>
struct Rows {
  MmaLeft large[S::depth_tiles], small[S::depth_tiles];
  float undo[2];

  __device__ __forceinline__ void load(const float* weights, int unit, int group, int pair) {
    constexpr bool vectors = S::hidden % 4 == 0;
    float values[2][S::depth_tiles][4];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int gate = S::hidden_gate(group % 2 + 2 * r);
      const bool there = gate >= 0 && unit < S::hidden;
      const float* from = weights + (static_cast<int64_t>(there ? gate : 0) * S::hidden + (there ? unit : 0)) *
                                        S::hidden;
#pragma unroll
      for (int j = 0; j < S::depth_tiles; ++j) {
        const int k = 16 * j + 4 * pair;
        if constexpr (vectors) {
          const float4 four = there && k < S::hidden ? __ldg(reinterpret_cast<const float4*>(from + k)) : float4{};
          values[r][j][0] = four.x, values[r][j][1] = four.y, values[r][j][2] = four.z,
          values[r][j][3] = four.w;
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            values[r][j][e] = there && k + e < S::hidden ? __ldg(from + k + e) : 0.0f;
        }
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      unsigned most = 0;
#pragma unroll
      for (int j = 0; j < S::depth_tiles; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) most = max(most, __float_as_uint(fabsf(values[r][j][e])));
      most = max(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = max(most, __shfl_xor_sync(0xffffffffu, most, 2));
      const float scale = half_range_scale(most);
      undo[r] = 1.0f / scale;
#pragma unroll
      for (int j = 0; j < S::depth_tiles; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float x = values[r][j][2 * half] * scale, y = values[r][j][2 * half + 1] * scale;
          const uint32_t pair_of_large = half_pair(x, y);
          const float2 rounded = float_pair(pair_of_large);
          large[j].parts[2 * half + r] = pair_of_large;
          small[j].parts[2 * half + r] =
              half_pair((x - rounded.x) * small_scale, (y - rounded.y) * small_scale);
        }
    }
  }

  // Of a tile of samples, `there` of them; `state` at this lane's first quad.
  __device__ __forceinline__ void multiply(const uint4* state, bool there, float (&sums)[4]) const {
    // Several sums side by side: each waits for the one before it.
    float main[2][4] = {}, mixed[2][2][4] = {};
#pragma unroll
    for (int j = 0; j < S::depth_tiles; ++j) {
      const uint4 quad = there ? state[4 * j] : uint4{};
      const MmaRight state_large{{quad.x, quad.y}}, state_small{{quad.z, quad.w}};
      mma(mixed[0][j % 2], large[j], state_small);
      mma(mixed[1][j % 2], small[j], state_large);
      mma(main[j % 2], large[j], state_large);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e)
      sums[e] = main[0][e] + main[1][e] +
                ((mixed[0][0][e] + mixed[0][1][e]) + (mixed[1][0][e] + mixed[1][1][e])) * (1.0f / small_scale);
  }
};

// The first state into shared memory, and each sample's scale: a state is at most 1, or as large as the first
// one in a gru. Whole warps.
template <class S>
__device__ __forceinline__ void begin_state(const float* h0, int first_sample, uint4* state, float* scales,
                                            int warp, int lane) {
  for (int sample = warp; sample < S::samples; sample += S::warps) {
    const bool there = first_sample + sample < S::batch;
    const float* from = h0 + static_cast<int64_t>(there ? first_sample + sample : 0) * S::hidden;
    unsigned most = __float_as_uint(1.0f);
    for (int k = lane; there && k < S::hidden; k += 32) most = max(most, __float_as_uint(fabsf(from[k])));
    const float scale = half_range_scale(__reduce_max_sync(0xffffffffu, most));
    if (lane == 0) scales[sample] = scale;
    for (int quad = lane; quad < S::quads; quad += 32) {
      uint32_t words[4];
#pragma unroll
      for (int e = 0; e < 4; ++e)
        words[e] = split_word(there && 4 * quad + e < S::hidden ? from[4 * quad + e] * scale : 0.0f);
      state[sample * S::row + quad] = {__byte_perm(words[0], words[1], 0x5410),
                                       __byte_perm(words[2], words[3], 0x5410),
                                       __byte_perm(words[0], words[1], 0x7632),
                                       __byte_perm(words[2], words[3], 0x7632)};
    }
  }
}

template <class Of>
__global__ void __launch_bounds__(ClusterSizes<Of>::threads, 1)
    kernel(const __grid_constant__ ClusterLayer<Of> a) {
  using S = ClusterSizes<Of>;
  constexpr int tiles = S::sample_tiles;
  constexpr float usual_scale = 16384.0f;  // of states that are at most 1
  extern __shared__ uint4 cluster_memory[];
  uint4* states = cluster_memory;                                            // (2, samples, row)
  float4* given = reinterpret_cast<float4*>(cluster_memory + 2 * S::state);  // (stages, warps, tiles, lanes)
  char* bytes = reinterpret_cast<char*>(cluster_memory);
  float* scales = reinterpret_cast<float*>(bytes + S::scales_at);
  ArrivalBarrier* barriers = reinterpret_cast<ArrivalBarrier*>(bytes + S::barriers_at);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int group = lane / 4, pair = lane % 4, odd = group % 2;
  const int rank = static_cast<int>(blockIdx.x) % S::cluster, team = static_cast<int>(blockIdx.x) / S::cluster;
  const int direction = team / S::chunks, first_sample = team % S::chunks * S::samples;
  const int quad = rank * (S::units / 4) + warp, unit = 4 * quad + group / 2;
  const auto& own = a.of[direction];

  for (int i = thread; i < S::scales_at / 16; i += S::threads) cluster_memory[i] = uint4{};
  for (int i = thread; i < 8 * tiles; i += S::threads) scales[i] = 1.0f;
  if (thread == 0)
    for (int b = 0; b < 2; ++b) {
      barriers[b].begin();
      barriers[b].expect(S::arriving_bytes);
    }
  __syncthreads();
  begin_state<S>(a.h0 + static_cast<int64_t>(direction) * S::batch * S::hidden, first_sample, states, scales, warp,
                 lane);

  // The input's share of a step, for the gates and samples that this lane has sums of.
  const float* from[tiles][2] = {};  // by sample
#pragma unroll
  for (int t = 0; t < tiles; ++t)
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int sample = 8 * t + 2 * pair + c;
      if (unit < S::hidden && sample < S::samples && first_sample + sample < S::batch)
        from[t][c] = own.given + ((static_cast<int64_t>(direction ? S::steps - 1 : 0) * S::batch + first_sample +
                                   sample) *
                                      S::hidden +
                                  unit) *
                                     S::gates;
    }
  const int64_t given_step =
      static_cast<int64_t>(direction ? -1 : 1) * S::batch * S::hidden * S::gates;
  auto fetch_given = [&](int i) {
    if (i < S::steps) {
#pragma unroll
      for (int t = 0; t < tiles; ++t) {
        float* to = reinterpret_cast<float*>(given + ((i % S::stages * S::warps + warp) * tiles + t) * 32 + lane);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int gate = S::input_gate(odd + e / 2 * 2);
          if (gate >= 0 && from[t][e % 2]) copy_4_bytes(to + e, from[t][e % 2] + i * given_step + gate, true);
        }
      }
    }
    close_copies();
  };
#pragma unroll
  for (int i = 0; i < S::stages; ++i) fetch_given(i);

  Rows<S> rows;
  rows.load(own.hidden, unit, group, pair);
  float bias[2] = {};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int slot = odd + 2 * r, from_input = S::input_gate(slot), from_hidden = S::hidden_gate(slot);
    if (unit >= S::hidden) continue;
    if (own.input_bias && from_input >= 0) bias[r] += own.input_bias[from_input * S::hidden + unit];
    if (own.hidden_bias && from_hidden >= 0) bias[r] += own.hidden_bias[from_hidden * S::hidden + unit];
  }
  __syncthreads();

  // After the gates have come together a lane has one sample of its unit a tile.
  RecurrenceCell<S::kind> cells[tiles] = {};
  float undo_state[tiles][2], scale[tiles];
#pragma unroll
  for (int t = 0; t < tiles; ++t) {
    const int own_sample = 8 * t + 2 * pair + odd, sample = first_sample + own_sample;
#pragma unroll
    for (int c = 0; c < 2; ++c) undo_state[t][c] = 1.0f / scales[8 * t + 2 * pair + c];
    scale[t] = S::kind == RecurrenceKind::gru ? scales[own_sample] : usual_scale;
    const float* before = S::kind == RecurrenceKind::lstm ? a.c0 : a.h0;
    if (unit < S::hidden && own_sample < S::samples && sample < S::batch)
      cells[t].before = before[(static_cast<int64_t>(direction) * S::batch + sample) * S::hidden + unit];
  }
  constexpr int peers_each = S::up(S::cluster, 4);
  PeerAddress peers[peers_each];
  enter_cluster(cluster_memory);
#pragma unroll
  for (int p = 0; p < peers_each; ++p) {
    const int peer = lane / 8 + 4 * p;
    peers[p] = peer_memory<S::cluster>(cluster_memory, peer < S::cluster ? peer : 0);
  }

#pragma unroll 1
  for (int i = 0; i < S::steps; ++i) {
    wait_for_copies<S::stages - 1>();
    float4 input[tiles];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      input[t] = given[((i % S::stages * S::warps + warp) * tiles + t) * 32 + lane];
      input[t].x += bias[0], input[t].y += bias[0], input[t].z += bias[1], input[t].w += bias[1];
    }
    if (i > 0) {
      ArrivalBarrier& barrier = barriers[i & 1];
      barrier.wait(static_cast<unsigned>((i - 1) / 2 & 1));
      if (thread == 0 && i + 2 < S::steps) barrier.expect(S::arriving_bytes);
    }
    const uint4* state = states + (i & 1) * S::state + group * S::row + pair;
    float values[tiles];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      float sums[4];
      rows.multiply(state + 8 * t * S::row, 8 * t + group < S::samples, sums);
      const float first = fmaf(sums[0] * rows.undo[0], undo_state[t][0], input[t].x),
                  second = fmaf(sums[1] * rows.undo[0], undo_state[t][1], input[t].y),
                  third = fmaf(sums[2] * rows.undo[1], undo_state[t][0], input[t].z),
                  fourth = fmaf(sums[3] * rows.undo[1], undo_state[t][1], input[t].w);
      // Even groups have gates 0 and 2 of two samples, odd ones gates 1 and 3.
      const float low = __shfl_xor_sync(0xffffffffu, odd ? first : second, 4),
                  high = __shfl_xor_sync(0xffffffffu, odd ? third : fourth, 4);
      const float all[4] = {odd ? low : first, odd ? second : low, odd ? high : third, odd ? fourth : high};
      values[t] = cells[t].next(all);
    }

    if (i + 1 < S::steps) {
      const int buffer = i + 1 & 1;
#pragma unroll
      for (int t = 0; t < tiles; ++t) {
        const uint32_t word = split_word(values[t] * scale[t]);
        uint32_t words[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) words[u] = __shfl_sync(0xffffffffu, word, 8 * u + lane % 8);
        const uint4 four = {__byte_perm(words[0], words[1], 0x5410), __byte_perm(words[2], words[3], 0x5410),
                            __byte_perm(words[0], words[1], 0x7632), __byte_perm(words[2], words[3], 0x7632)};
        const int sample = 8 * t + 2 * pair + odd;
        const int at = (buffer * S::state + sample * S::row + quad) * 16;
#pragma unroll
        for (int p = 0; p < peers_each; ++p)
          if (sample < S::samples && quad < S::quads && lane / 8 + 4 * p < S::cluster)
            send_16_bytes(peers[p] + at, four, peers[p] + S::barriers_at + buffer * 8);
      }
      if (S::kind != RecurrenceKind::gru && i == 0)
#pragma unroll
        for (int t = 0; t < tiles; ++t) undo_state[t][0] = undo_state[t][1] = 1.0f / usual_scale;
    }

    // Nobody waits for the rest.
    fetch_given(i + S::stages);
    const int step = direction ? S::steps - 1 - i : i;
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      const int own_sample = 8 * t + 2 * pair + odd, sample = first_sample + own_sample;
      if (unit >= S::hidden || own_sample >= S::samples || sample >= S::batch) continue;
      if (a.y) a.y[step * a.y_step + sample * a.y_sample + direction * S::hidden + unit] = values[t];
      if (i + 1 < S::steps) continue;
      const int64_t at = (static_cast<int64_t>(direction) * S::batch + sample) * S::hidden + unit;
      if (a.hn) a.hn[at] = values[t];
      if (a.cn) a.cn[at] = cells[t].before;
    }
  }
  leave_cluster();
}

}  // namespace cluster_steps

template <class Of>
StitchStatus enqueue_cluster_layer(const ClusterLayer<Of>& layer, cudaStream_t stream) {
  using S = ClusterSizes<Of>;
  return launch_clusters("cluster_recurrence", cluster_steps::kernel<Of>,
                         {S::blocks, S::threads, S::shared_bytes}, S::cluster, stream, layer);
}

// The input's share of the gates in one direction: (steps · batch, features) times (gates, hidden,
// features)ᵀ, a unit's gates side by side.
template <class Of, int feature_count, int64_t step, int64_t sample, int64_t feature>
struct GatesFromInput {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr int gates = gates_of(Of::kind);
  static constexpr Index batches = 1, rows = Of::steps * Of::batch, columns = gates * Of::hidden,
                         depth = feature_count;
  static constexpr bool left_by_depth = feature == 1, right_by_depth = true, has_right = true, padded = false;
  __device__ static Index left(Index, Index row, Index k) {
    return static_cast<Index>(row / Of::batch * step + row % Of::batch * sample + k * feature);
  }
  __device__ static Index right(Index, Index k, Index column) {
    return (column % gates * Of::hidden + column / gates) * feature_count + k;
  }
  __device__ static Index out(Index, Index row, Index column) { return row * columns + column; }
  __device__ static Index position(Index, Index row, Index column) { return row * columns + column; }
  struct Tiles {
    static constexpr int warp_rows = 2, warp_columns = 2, row_tiles = 4, column_tiles = 4;
    static constexpr int depth_tile = depth < 32 ? (depth + 7) / 8 * 8 : 32, stages = depth > 32 ? 3 : 1;
    static constexpr bool left_quads =
        feature == 1 && step % 4 == 0 && sample % 4 == 0 && feature_count % 4 == 0;
    static constexpr bool right_quads = feature_count % 4 == 0, out_pairs = columns % 2 == 0;
  };
};

// All layers. `Of` also has the first one's features and how its input lies: input, layers, x_step, x_sample,
// x_feature.
template <class Of, int slots>
struct ClusterRecurrence {
  RecurrenceWeights weights[slots];  // by layer, then direction
  const float* x;                    // (steps, batch, input)
  const float *h0, *c0;              // (layers · directions, batch, hidden)
  float* workspace;                  // the gates' shares of all directions, then a layer's states
  float* y;                          // (steps, batch, directions · hidden) or null, strides:
  int64_t y_step, y_sample;
  float *hn, *cn;  // (layers · directions, batch, hidden) or null
};

template <class Of, int slots>
StitchStatus enqueue_cluster_recurrence(const ClusterRecurrence<Of, slots>& r, cudaStream_t stream) {
  using S = ClusterSizes<Of>;
  static_assert(slots == Of::layers * S::directions);
  constexpr int width = S::directions * S::hidden;
  constexpr int64_t share = int64_t{S::steps} * S::batch * S::gates * S::hidden,
                    state = int64_t{S::directions} * S::batch * S::hidden;
  using First = GatesFromInput<Of, Of::input, Of::x_step, Of::x_sample, Of::x_feature>;
  using Other = GatesFromInput<Of, width, int64_t{S::batch} * width, width, 1>;
  float* below = r.workspace + S::directions * share;  // (steps, batch, width)
  for (int l = 0; l < Of::layers; ++l) {
    const bool last = l == Of::layers - 1;
    ClusterLayer<Of> layer{};
    for (int d = 0; d < S::directions; ++d) {
      const RecurrenceWeights& own = r.weights[l * S::directions + d];
      float* given = r.workspace + d * share;
      if (l == 0)
        STITCH_OK_OR_RETURN((enqueue_tensor_core_product<First, typename First::Tiles>(
            "gates_from_input", r.x, own.input, given, NoEpilogue{}, stream)));
      else
        STITCH_OK_OR_RETURN((enqueue_tensor_core_product<Other, typename Other::Tiles>(
            "gates_from_below", below, own.input, given, NoEpilogue{}, stream)));
      layer.of[d] = {given, own.hidden, own.input_bias, own.hidden_bias};
    }
    layer.h0 = r.h0 + l * state;
    layer.c0 = r.c0 ? r.c0 + l * state : nullptr;
    layer.y = last ? r.y : below;
    layer.y_step = last ? r.y_step : int64_t{S::batch} * width;
    layer.y_sample = last ? r.y_sample : width;
    layer.hn = r.hn ? r.hn + l * state : nullptr;
    layer.cn = r.cn ? r.cn + l * state : nullptr;
    STITCH_OK_OR_RETURN(enqueue_cluster_layer(layer, stream));
  }
  return STITCH_OK;
}

// What a program keeps of such a recurrence: that the GPU has clusters.
struct ClusterBlocks {
  static StitchStatus create() {
    int device = 0, clusters = 1;
    STITCH_CUDA(cudaGetDevice(&device));
#if !STITCH_EMULATED
    STITCH_CUDA(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device));
#endif
    if (clusters) return STITCH_OK;
    return fail(STITCH_UNSUPPORTED,
                "recurrence: this GPU has no clusters of blocks; plan the program for this GPU");
  }
};

}  // namespace stitch
