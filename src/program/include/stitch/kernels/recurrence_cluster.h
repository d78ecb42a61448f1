// The steps of a recurrence, a layer's state never leaving a cluster of blocks. A cluster owns a few samples of
// one layer and direction; a block of it owns hidden units, whose weights lie in registers for all steps.
// Every step multiplies them with the state on tensor cores at FP32's accuracy, each number as two of fp16
// (split_half.h has the idea), and sends the new state to all blocks of the cluster, straight into their
// shared memory: nothing waits for L2.
//
// The first layer's share of the gates from its input, of all steps, was a product before. Layers of one
// direction run as a wavefront: as many warps again multiply the states of the layer below, which come
// through L2 some steps ahead. All clusters must be resident then. Otherwise a launch is a layer, and every
// layer's share a product.
//
// A warp owns four units, 16 rows of weights. The eight columns of a product are four samples, their large
// parts and then their small ones, so that two products do what takes three otherwise. Shuffles bring the
// parts of a sum together, then the gates of a unit and sample, then 16 bytes of the new state.
#pragma once

#include "stitch/kernels/matmul_tensor_core.h"
#include "stitch/kernels/recurrence.h"
#include "stitch/kernels/recurrence_exchange.h"
#include "stitch/kernels/recurrence_product.h"
#include "stitch/kernels/split_tile.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/cluster.h"
#include "stitch/runtime/mma.h"

namespace stitch {
// What generated code says of a layer: `Of` has its sizes, and how many blocks and samples a cluster has.
template <class Of>
struct ClusterSizes : Of {
  using Of::batch, Of::cluster, Of::directions, Of::hidden, Of::kind, Of::layers_at_once, Of::samples,
      Of::steps;
  __host__ __device__ static constexpr int up(int count, int by) { return (count + by - 1) / by; }

  static constexpr int gates = gates_of(kind);
  static constexpr int quads = up(hidden, 4);             // of units, 16 bytes of the state each
  static constexpr int units = up(quads, cluster) * 4;    // of a block
  // Who sends nothing is not waited for, and would be overtaken.
  static_assert(up(quads, units / 4) == cluster, "every block owns units");
  static constexpr bool wavefront = layers_at_once > 1;
  static constexpr int warps = units / 4, step_threads = warps * 32;
  static constexpr int threads = wavefront ? 2 * step_threads : step_threads;
  static constexpr int depth_tiles = up(hidden, 16), sample_tiles = up(samples, 4);
  static constexpr int chunks = up(batch, samples);
  static constexpr int slots = layers_at_once * directions, blocks = slots * chunks * cluster;
  // Shared memory: the state of two steps, 16 bytes for four units of a sample, samples of a tile side by
  // side.
  static constexpr int state = sample_tiles * 4 * depth_tiles * 4;
  static constexpr int states = wavefront ? 4 : 2;  // two of the layer below
  // Then the input's share of so many steps, where each lane has its own 8 bytes a tile of samples.
  static constexpr int stages = wavefront ? 2 : 4, given = warps * sample_tiles * 32;
  static constexpr int scales_at = states * state * 16 + stages * given * 8;
  static constexpr int barriers_at = scales_at + 2 * 4 * sample_tiles * 4;  // scales of the layer below, too
  static constexpr int shared_bytes = barriers_at + 2 * 8;
  static constexpr int arriving_bytes = samples * quads * 16;

  // Which gate a warp's rows are for, of the weights and of the input's share. A gru's last one needs both
  // apart. -1: none.
  __host__ __device__ static constexpr int hidden_gate(int slot) {
    return kind == RecurrenceKind::gru ? (slot == 3 ? 2 : slot == 2 ? -1 : slot) : slot < gates ? slot : -1;
  }
  __host__ __device__ static constexpr int input_gate(int slot) { return slot < gates ? slot : -1; }
  // Where four units of a sample lie.
  __host__ __device__ static constexpr int place(int quad, int sample) {
    return (sample / 4 * (4 * depth_tiles) + quad) * 4 + sample % 4;
  }
};

// One launch: all directions of a layer, or all layers.
template <class Of>
struct ClusterLayers {
  struct Slot {
    const float* given;        // (steps, batch, hidden, gates): the input's share of the gates, or null:
    const float* input;        // (gates, hidden, hidden): of a layer above another
    const float* hidden;       // (gates, hidden, hidden)
    const float* input_bias;   // (gates, hidden), or null
    const float* hidden_bias;  // (gates, hidden), or null
  } of[Of::layers_at_once * Of::directions];  // by layer, then direction
  const float *h0, *c0;                       // (slots, batch, hidden)
  uint4* published;                           // (layers - 1, chunks, steps, state), all bits set
  float* y;                                   // (steps, batch, directions · hidden) or null, strides:
  int64_t y_step, y_sample;
  float *hn, *cn;  // (slots, batch, hidden) or null
};

namespace cluster_steps {

constexpr float usual_scale = 16384.0f;  // of states that are at most 1
// Two each, of even and odd steps, and one of those that multiply the layer below.
enum Barrier : int { given_full = 1, given_empty = 3, received = 5 };

// Where a block stands.
struct Role {
  int layer, slot, direction, chunk, first_sample, first_quad;
};
template <class S>
__device__ __forceinline__ Role role_of_block() {
  const int rank = static_cast<int>(blockIdx.x) % S::cluster, team = static_cast<int>(blockIdx.x) / S::cluster;
  Role role{};
  role.chunk = team % S::chunks;
  role.slot = team / S::chunks;
  role.layer = role.slot / S::directions;
  role.direction = role.slot % S::directions;
  role.first_sample = role.chunk * S::samples;
  role.first_quad = rank * (S::units / 4);
  return role;
}
// What a lane is left with of a product's rows and columns.
struct Lane {
  int lane, warp, group, pair, odd, quad, unit, in_tile;
  __device__ __forceinline__ Lane(const Role& role, int thread)
      : lane(thread % 32),
        warp(thread / 32),
        group(lane / 4),
        pair(lane % 4),
        odd(group % 2),
        quad(role.first_quad + warp),
        unit(4 * quad + group / 2),
        in_tile(pair % 2 * 2 + pair / 2) {}  // its sample of each tile
};

// Small parts are kept 2048 times as large, away from fp16's denormals.
constexpr float small_scale = 2048.0f;

// A number, scaled into fp16's range, as its large and its small part.
__device__ __forceinline__ uint32_t split_word(float x) {
  const float large = __half2float(__float2half_rn(x));
  return half_pair(large, (x - large) * small_scale);
}

// Four units of a sample: large parts, small parts; every other two quads the other way round, which lets
// lanes that read 8 bytes each meet all banks.
__device__ __forceinline__ uint4 quad_of(const uint32_t (&words)[4], int quad) {
  constexpr uint32_t large = 0x5410, small = 0x7632;
  const uint32_t first = quad & 2 ? small : large, second = quad & 2 ? large : small;
  return {__byte_perm(words[0], words[1], first), __byte_perm(words[2], words[3], first),
          __byte_perm(words[0], words[1], second), __byte_perm(words[2], words[3], second)};
}

// 16 rows of weights: of lane's row group, gate group % 2 of unit group / 2; eight rows further two gates
// further. A row has a scale of its own. Depths are in the order in which lanes have them in a quad.
template <class S>
struct Rows {
  MmaLeft large[S::depth_tiles], small[S::depth_tiles];
  float undo[2];

  // `of_input`: weights of the layer below, else of the state.
  template <bool of_input>
  __device__ __forceinline__ void load(const float* weights, int unit, int group, int pair) {
    constexpr bool vectors = S::hidden % 4 == 0;
    float values[2][S::depth_tiles][4];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int slot = group % 2 + 2 * r, gate = of_input ? S::input_gate(slot) : S::hidden_gate(slot);
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

  // `state`: where it begins. Lanes with pair < 2 are left with the sums of a tile's sample 2 · pair, the
  // others with those of sample 2 · pair - 3: of rows group and group + 8.
  __device__ __forceinline__ void multiply(const uint4* state, int group, int pair,
                                           float (&sums)[S::sample_tiles][2]) const {
    // Column `group` of a product, at four units for each pair.
    const uint2* at =
        reinterpret_cast<const uint2*>(state) + pair * 8 + group % 4 * 2 + (group / 4 ^ pair / 2);
    // Several sums side by side: each waits for the one before it.
    constexpr int chains = S::sample_tiles > 2 ? 1 : 4 / S::sample_tiles;
    float by_large[S::sample_tiles][chains][4] = {}, by_small[S::sample_tiles][chains][4] = {};
#pragma unroll
    for (int j = 0; j < S::depth_tiles; ++j)
#pragma unroll
      for (int t = 0; t < S::sample_tiles; ++t) {
        const uint2 parts = at[(t * S::depth_tiles + j) * 32];
        const MmaRight both{{parts.x, parts.y}};
        mma(by_large[t][j % chains], large[j], both);
        mma(by_small[t][j % chains], small[j], both);
      }
    const bool of_small = pair >= 2;  // columns of small parts
    // Factors, where conditions would be branches. Small parts times small ones are left out.
    const float of_first = of_small ? 1.0f / small_scale : 1.0f, of_second = of_small ? 0.0f : 1.0f / small_scale;
#pragma unroll
    for (int t = 0; t < S::sample_tiles; ++t) {
      float all[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float first = by_large[t][0][e], second = by_small[t][0][e];
#pragma unroll
        for (int c = 1; c < chains; ++c) first += by_large[t][c][e], second += by_small[t][c][e];
        all[e] = fmaf(second, of_second, first * of_first);
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float theirs = __shfl_xor_sync(0xffffffffu, of_small ? all[2 * r] : all[2 * r + 1], 2);
        sums[t][r] = ((of_small ? all[2 * r + 1] : all[2 * r]) + theirs) * undo[r];
      }
    }
  }
};

// The scale of a sample's states: they are at most 1, or as large as the first one. A whole warp.
template <class S>
__device__ __forceinline__ float state_scale(const float* h0, int lane) {
  unsigned most = __float_as_uint(1.0f);
  for (int k = lane; k < S::hidden; k += 32) most = max(most, __float_as_uint(fabsf(h0[k])));
  return half_range_scale(__reduce_max_sync(0xffffffffu, most));
}

// The first state into shared memory, and each sample's scale, then those of the layer below.
template <class S>
__device__ __forceinline__ void begin_states(const float* h0, const Role& role, uint4* state, float* scales,
                                             int warp, int lane) {
  const float* own = h0 + static_cast<int64_t>(role.slot) * S::batch * S::hidden;
  for (int sample = warp; sample < S::samples; sample += S::threads / 32) {
    if (role.first_sample + sample >= S::batch) continue;
    const float* from = own + static_cast<int64_t>(role.first_sample + sample) * S::hidden;
    const float scale = state_scale<S>(from, lane);
    if (lane == 0) scales[sample] = scale;
    for (int quad = lane; quad < S::quads; quad += 32) {
      uint32_t words[4];
#pragma unroll
      for (int e = 0; e < 4; ++e)
        words[e] = split_word(4 * quad + e < S::hidden ? from[4 * quad + e] * scale : 0.0f);
      state[S::place(quad, sample)] = quad_of(words, quad);
    }
    if (S::wavefront && S::kind == RecurrenceKind::gru && role.layer > 0) {
      const float below =
          state_scale<S>(from - static_cast<int64_t>(S::directions) * S::batch * S::hidden, lane);
      if (lane == 0) scales[4 * S::sample_tiles + sample] = below;
    }
  }
}

// Where the input's share lies that a lane has sums of. Null: there is none.
template <class S, class Slot>
__device__ __forceinline__ const float* given_to(const Slot& own, const Role& role, const Lane& l, int tile) {
  const int sample = 4 * tile + l.in_tile;
  if (!own.given || l.unit >= S::hidden || sample >= S::samples || role.first_sample + sample >= S::batch)
    return nullptr;
  const int64_t step = role.direction ? S::steps - 1 : 0;
  return own.given + ((step * S::batch + role.first_sample + sample) * S::hidden + l.unit) * S::gates;
}
template <class S>
__device__ __forceinline__ int64_t from_step_to_step(const Role& role) {
  return static_cast<int64_t>(role.direction ? -1 : 1) * S::batch * S::hidden * S::gates;
}

// In a wavefront: the first layer's share of the gates comes from memory.
template <class S, class Arguments>
__device__ __forceinline__ void copy_given(const Arguments& a, const Role& role, const Lane& l, float2* given) {
  const float* from[S::sample_tiles];
  float2 next[S::sample_tiles] = {};
  const int64_t stride = from_step_to_step<S>(role);
  const int first = S::input_gate(l.odd), second = S::input_gate(l.odd + 2);
  auto ask = [&](int i) {
#pragma unroll
    for (int t = 0; t < S::sample_tiles; ++t) {
      if (!from[t]) continue;
      if (first >= 0) next[t].x = __ldg(from[t] + i * stride + first);
      if (second >= 0) next[t].y = __ldg(from[t] + i * stride + second);
    }
  };
#pragma unroll
  for (int t = 0; t < S::sample_tiles; ++t) from[t] = given_to<S>(a.of[role.slot], role, l, t);
  ask(0);
#pragma unroll 1
  for (int i = 0; i < S::steps; ++i) {
    const int odd = i & 1;
    if (i >= 2) wait_at(given_empty + odd, S::threads);
#pragma unroll
    for (int t = 0; t < S::sample_tiles; ++t)
      given[((odd * S::warps + l.warp) * S::sample_tiles + t) * 32 + l.lane] = next[t];
    __syncwarp();
    arrive_at(given_full + odd, S::threads);
    if (i + 1 < S::steps) ask(i + 1);
  }
}

// In a wavefront: the other layers' share, from the states of the layer below as soon as they are there.
template <class S, class Arguments>
__device__ __forceinline__ void multiply_below(const Arguments& a, const Role& role, const Lane& l, uint4* below,
                                               const float* scales, float2* given) {
  constexpr int count = S::sample_tiles * S::quads * 4, each = S::up(count, S::step_threads);
  const uint4* published =
      a.published + (static_cast<int64_t>(role.layer - 1) * S::chunks + role.chunk) * S::steps * S::state;
  const int thread = l.warp * 32 + l.lane;
  int places[each];  // -1: none
  uint4 next[each];
#pragma unroll
  for (int j = 0; j < each; ++j) {
    const int at = thread + j * S::step_threads, sample = at / (4 * S::quads) * 4 + at % 4;
    places[j] = at < count && sample < S::samples ? S::place(at / 4 % S::quads, sample) : -1;
    next[j] = uint4{};
  }
  auto ask = [&](int i) {
#pragma unroll
    for (int j = 0; j < each; ++j)
      read_exchange(published + static_cast<int64_t>(i) * S::state + (places[j] < 0 ? 0 : places[j]),
                    places[j] >= 0, next[j]);
  };
  ask(0);
  Rows<S> rows;
  rows.template load<true>(a.of[role.slot].input, l.unit, l.group, l.pair);
  float undo_state[S::sample_tiles];
#pragma unroll
  for (int t = 0; t < S::sample_tiles; ++t)
    undo_state[t] = 1.0f / (S::kind == RecurrenceKind::gru ? scales[4 * (S::sample_tiles + t) + l.in_tile]
                                                           : usual_scale);
#pragma unroll 1
  for (int i = 0; i < S::steps; ++i) {
    const int odd = i & 1;
    uint4* state = below + odd * S::state;
    // For one of them first: reading everything over and over would slow down those who are in a hurry.
    while (is_missing(next[0])) {
      read_exchange(published + static_cast<int64_t>(i) * S::state + places[0], true, next[0]);
#if STITCH_EMULATED
      __nanosleep(0);  // lets other threads run
#endif
    }
    for (bool waiting = true; waiting;) {
      waiting = false;
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const bool missing = is_missing(next[j]);
        read_exchange(published + static_cast<int64_t>(i) * S::state + (places[j] < 0 ? 0 : places[j]), missing,
                      next[j]);
        waiting |= missing;
      }
#if STITCH_EMULATED
      if (waiting) __nanosleep(0);  // lets other blocks run
#endif
    }
#pragma unroll
    for (int j = 0; j < each; ++j)
      if (places[j] >= 0) state[places[j]] = next[j];
    wait_at(received, S::step_threads);
    if (i + 1 < S::steps) ask(i + 1);
    float sums[S::sample_tiles][2];
    rows.multiply(state, l.group, l.pair, sums);
    if (i >= 2) wait_at(given_empty + odd, S::threads);
#pragma unroll
    for (int t = 0; t < S::sample_tiles; ++t)
      given[((odd * S::warps + l.warp) * S::sample_tiles + t) * 32 + l.lane] = {sums[t][0] * undo_state[t],
                                                                               sums[t][1] * undo_state[t]};
    __syncwarp();
    arrive_at(given_full + odd, S::threads);
  }
}

template <class S, class Arguments>
__device__ __forceinline__ void take_steps(const Arguments& a, const Role& role, const Lane& l, uint4* memory,
                                           const float* scales, float2* given, ArrivalBarrier* barriers) {
  constexpr int tiles = S::sample_tiles;
  const auto& own = a.of[role.slot];
  // Outside a wavefront a lane fetches its share of the gates itself, some steps ahead.
  const float* from[tiles];
#pragma unroll
  for (int t = 0; t < tiles; ++t) from[t] = given_to<S>(own, role, l, t);
  const int64_t stride = from_step_to_step<S>(role);
  auto given_at = [&](int i, int t) {
    return given + ((i % S::stages * S::warps + l.warp) * tiles + t) * 32 + l.lane;
  };
  auto fetch_given = [&](int i) {
    if (S::wavefront) return;
    if (i < S::steps) {
#pragma unroll
      for (int t = 0; t < tiles; ++t)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const int gate = S::input_gate(l.odd + 2 * r);
          if (gate >= 0 && from[t])
            copy_4_bytes(reinterpret_cast<float*>(given_at(i, t)) + r, from[t] + i * stride + gate, true);
        }
    }
    close_copies();
  };
#pragma unroll
  for (int i = 0; i < S::stages; ++i) fetch_given(i);

  Rows<S> rows;
  rows.template load<false>(own.hidden, l.unit, l.group, l.pair);
  float bias[2] = {};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int slot = l.odd + 2 * r, from_input = S::input_gate(slot), from_hidden = S::hidden_gate(slot);
    if (l.unit >= S::hidden) continue;
    if (own.input_bias && from_input >= 0) bias[r] += own.input_bias[from_input * S::hidden + l.unit];
    if (own.hidden_bias && from_hidden >= 0) bias[r] += own.hidden_bias[from_hidden * S::hidden + l.unit];
  }
  RecurrenceCell<S::kind> cells[tiles] = {};
  float undo_state[tiles], scale[tiles];
  bool there[tiles];
#pragma unroll
  for (int t = 0; t < tiles; ++t) {
    const int own_sample = 4 * t + l.in_tile, sample = role.first_sample + own_sample;
    there[t] = l.unit < S::hidden && own_sample < S::samples && sample < S::batch;
    undo_state[t] = 1.0f / scales[own_sample];
    scale[t] = S::kind == RecurrenceKind::gru ? scales[own_sample] : usual_scale;
    const float* before = S::kind == RecurrenceKind::lstm ? a.c0 : a.h0;
    if (there[t])
      cells[t].before = before[(static_cast<int64_t>(role.slot) * S::batch + sample) * S::hidden + l.unit];
  }
  // A lane sends to every eighth block.
  constexpr int peers_each = S::up(S::cluster, 8);
  PeerAddress peers[peers_each];
#pragma unroll
  for (int p = 0; p < peers_each; ++p)
    peers[p] = peer_memory<S::cluster>(memory, l.group + 8 * p < S::cluster ? l.group + 8 * p : 0);
  const bool is_last_layer = role.layer + 1 == S::layers_at_once;
  uint4* published =
      a.published + (static_cast<int64_t>(role.layer) * S::chunks + role.chunk) * S::steps * S::state;

#pragma unroll 1
  for (int i = 0; i < S::steps; ++i) {
    if constexpr (S::wavefront)
      wait_at(given_full + (i & 1), S::threads);
    else
      wait_for_copies<S::stages - 1>();
    float2 input[tiles];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      input[t] = *given_at(i, t);
      input[t].x += bias[0], input[t].y += bias[1];
    }
    if constexpr (S::wavefront) {
      __syncwarp();
      if (i + 2 < S::steps) arrive_at(given_empty + (i & 1), S::threads);
    }
    if (l.quad >= S::quads) continue;  // a whole warp
    if (i > 0) barriers[i & 1].wait(static_cast<unsigned>((i - 1) / 2 & 1));
    float sums[tiles][2], values[tiles];
    rows.multiply(memory + (i & 1) * S::state, l.group, l.pair, sums);
    // Tile by tile each of these would wait for the one before it.
    float gates[tiles][4];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      // Even groups have gates 0 and 2, odd ones gates 1 and 3.
      const float first = fmaf(sums[t][0], undo_state[t], input[t].x),
                  second = fmaf(sums[t][1], undo_state[t], input[t].y);
      const float other_first = __shfl_xor_sync(0xffffffffu, first, 4),
                  other_second = __shfl_xor_sync(0xffffffffu, second, 4);
      gates[t][0] = l.odd ? other_first : first, gates[t][1] = l.odd ? first : other_first;
      gates[t][2] = l.odd ? other_second : second, gates[t][3] = l.odd ? second : other_second;
    }
    uint32_t words[tiles];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      values[t] = cells[t].next(gates[t]);
      words[t] = split_word(values[t] * scale[t]);
    }
    uint4 fours[tiles];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      uint32_t of_units[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) of_units[u] = __shfl_sync(0xffffffffu, words[t], 8 * u + l.lane % 8);
      fours[t] = quad_of(of_units, l.quad);
    }
    if (i + 1 < S::steps) {
      const int buffer = (i + 1) & 1;
#pragma unroll
      for (int t = 0; t < tiles; ++t)
#pragma unroll
        for (int p = 0; p < peers_each; ++p)
          if (4 * t + l.in_tile < S::samples && l.group + 8 * p < S::cluster)
            send_16_bytes(peers[p] + (buffer * S::state + S::place(l.quad, 4 * t + l.in_tile)) * 16, fours[t],
                          peers[p] + S::barriers_at + buffer * 8);
    }

    // Nobody waits for the rest. What arrives before it is expected counts, too.
    if (i > 0 && i + 2 < S::steps && l.warp == 0 && l.lane == 0) barriers[i & 1].expect(S::arriving_bytes);
    if constexpr (S::wavefront)
#pragma unroll
      for (int t = 0; t < tiles; ++t)
        if (4 * t + l.in_tile < S::samples && l.group == 0 && !is_last_layer)
          publish_16_bytes(published + static_cast<int64_t>(i) * S::state + S::place(l.quad, 4 * t + l.in_tile),
                           fours[t]);
    if (S::kind != RecurrenceKind::gru && i == 0)
#pragma unroll
      for (int t = 0; t < tiles; ++t) undo_state[t] = 1.0f / usual_scale;
    fetch_given(i + S::stages);
    const int step = role.direction ? S::steps - 1 - i : i;
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      if (!there[t] || l.odd) continue;
      const int sample = role.first_sample + 4 * t + l.in_tile;
      if (a.y && is_last_layer)
        a.y[step * a.y_step + sample * a.y_sample + role.direction * S::hidden + l.unit] = values[t];
      if (i + 1 < S::steps) continue;
      const int64_t at = (static_cast<int64_t>(role.slot) * S::batch + sample) * S::hidden + l.unit;
      if (a.hn) a.hn[at] = values[t];
      if (a.cn) a.cn[at] = cells[t].before;
    }
  }
}

template <class Of>
__global__ void __launch_bounds__(ClusterSizes<Of>::threads, 1)
    kernel(const __grid_constant__ ClusterLayers<Of> a) {
  using S = ClusterSizes<Of>;
  extern __shared__ uint4 cluster_memory[];  // (states, state)
  char* bytes = reinterpret_cast<char*>(cluster_memory);
  float2* given = reinterpret_cast<float2*>(cluster_memory + S::states * S::state);  // (stages, warps, tiles, lanes)
  float* scales = reinterpret_cast<float*>(bytes + S::scales_at);
  ArrivalBarrier* barriers = reinterpret_cast<ArrivalBarrier*>(bytes + S::barriers_at);
  const int thread = static_cast<int>(threadIdx.x);
  const Role role = role_of_block<S>();

  for (int i = thread; i < S::scales_at / 16; i += S::threads) cluster_memory[i] = uint4{};
  for (int i = thread; i < 2 * 4 * S::sample_tiles; i += S::threads) scales[i] = 1.0f;
  if (thread == 0)
    for (int b = 0; b < 2; ++b) {
      barriers[b].begin();
      barriers[b].expect(S::arriving_bytes);
    }
  __syncthreads();
  begin_states<S>(a.h0, role, cluster_memory, scales, thread / 32, thread % 32);
  __syncthreads();
  enter_cluster(cluster_memory);
  const Lane lane(role, thread % S::step_threads);
  if (thread < S::step_threads) {
    take_steps<S>(a, role, lane, cluster_memory, scales, given, barriers);
  } else if constexpr (S::wavefront) {
    if (role.layer == 0)
      copy_given<S>(a, role, lane, given);
    else
      multiply_below<S>(a, role, lane, cluster_memory + 2 * S::state, scales, given);
  }
  __syncwarp();
  leave_cluster();
}

}  // namespace cluster_steps

template <class Of>
StitchStatus enqueue_cluster_layers(const ClusterLayers<Of>& layers, cudaStream_t stream) {
  using S = ClusterSizes<Of>;
  return launch_clusters("cluster_recurrence", cluster_steps::kernel<Of>,
                         {S::blocks, S::threads, S::shared_bytes, S::wavefront}, S::cluster, stream, layers);
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
StitchStatus enqueue_layer_by_layer(const ClusterRecurrence<Of, slots>& r, cudaStream_t stream) {
  using S = ClusterSizes<Of>;
  static_assert(slots == Of::layers * S::directions);
  constexpr int width = S::directions * S::hidden;
  constexpr int64_t share = int64_t{S::steps} * S::batch * S::gates * S::hidden,
                    state = int64_t{S::directions} * S::batch * S::hidden;
  using First = GatesFromInput<Of, Of::input, Of::x_step, Of::x_sample, Of::x_feature>;
  using Other = GatesFromInput<Of, width, int64_t{S::batch} * width, width, 1>;
  float* below = r.workspace + S::directions * share;  // (steps, batch, width)
  // What weights, and first states, are scaled with.
  constexpr bool splits = Of::layers > 1 && width % 4 == 0;
  auto* largest = reinterpret_cast<unsigned*>(below + (splits ? int64_t{S::steps} * S::batch * width : 0));
  if constexpr (splits) {
    Arrays<slots + Of::layers> arrays{};
    for (int slot = 0; slot < slots; ++slot) {
      arrays.from[slot] = r.weights[slot].input;
      arrays.elements[slot] = slot < S::directions ? 0 : int64_t{S::gates} * S::hidden * width;
    }
    for (int l = 0; l < Of::layers; ++l) arrays.from[slots + l] = r.h0 + l * state, arrays.elements[slots + l] = state;
    STITCH_CUDA(cudaMemsetAsync(largest, 0, (slots + Of::layers) * sizeof(unsigned), stream));
    STITCH_OK_OR_RETURN(launch("largest_magnitudes", largest_magnitudes<slots + Of::layers>,
                               {dim3(32, slots + Of::layers), 256}, stream, arrays, largest));
  }
  for (int l = 0; l < Of::layers; ++l) {
    const bool last = l == Of::layers - 1;
    ClusterLayers<Of> layer{};
    GatesProduct<S::directions> product{below};
    for (int d = 0; d < S::directions; ++d) {
      const RecurrenceWeights& own = r.weights[l * S::directions + d];
      float* given = r.workspace + d * share;
      if (l == 0)
        STITCH_OK_OR_RETURN((enqueue_tensor_core_product<First, typename First::Tiles>(
            "gates_from_input", r.x, own.input, given, NoEpilogue{}, stream)));
      else if constexpr (!splits)
        STITCH_OK_OR_RETURN((enqueue_tensor_core_product<Other, typename Other::Tiles>(
            "gates_from_below", below, own.input, given, NoEpilogue{}, stream)));
      product.weights[d] = own.input, product.to[d] = given;
      layer.of[d] = {given, nullptr, own.hidden, own.input_bias, own.hidden_bias};
    }
    if constexpr (splits)
      if (l > 0) {
        product.largest_weight = largest + l * S::directions;
        product.largest_state = S::kind == RecurrenceKind::gru ? largest + slots + l - 1 : nullptr;
        STITCH_OK_OR_RETURN(
            (enqueue_gates_product<S::steps * S::batch, S::hidden, S::gates, width>(product, stream)));
      }
    layer.h0 = r.h0 + l * state;
    layer.c0 = r.c0 ? r.c0 + l * state : nullptr;
    layer.y = last ? r.y : below;
    layer.y_step = last ? r.y_step : int64_t{S::batch} * width;
    layer.y_sample = last ? r.y_sample : width;
    layer.hn = r.hn ? r.hn + l * state : nullptr;
    layer.cn = r.cn ? r.cn + l * state : nullptr;
    STITCH_OK_OR_RETURN(enqueue_cluster_layers(layer, stream));
  }
  return STITCH_OK;
}

// Layers of one direction at once.
template <class Of, int slots>
StitchStatus enqueue_wavefront(const ClusterRecurrence<Of, slots>& r, cudaStream_t stream) {
  using S = ClusterSizes<Of>;
  static_assert(slots == S::layers_at_once && S::directions == 1);
  constexpr int64_t share = (int64_t{S::steps} * S::batch * S::gates * S::hidden + 3) / 4 * 4;
  using First = GatesFromInput<Of, Of::input, Of::x_step, Of::x_sample, Of::x_feature>;
  ClusterLayers<Of> layers{};
  layers.published = reinterpret_cast<uint4*>(r.workspace + share);
  STITCH_CUDA(cudaMemsetAsync(layers.published, 0xff,
                              sizeof(uint4) * (slots - 1) * S::chunks * S::steps * S::state, stream));
  STITCH_OK_OR_RETURN((enqueue_tensor_core_product<First, typename First::Tiles>(
      "gates_from_input", r.x, r.weights[0].input, r.workspace, NoEpilogue{}, stream)));
  for (int l = 0; l < slots; ++l) {
    const RecurrenceWeights& own = r.weights[l];
    layers.of[l] = {l == 0 ? r.workspace : nullptr, own.input, own.hidden, own.input_bias, own.hidden_bias};
  }
  layers.h0 = r.h0, layers.c0 = r.c0;
  layers.y = r.y, layers.y_step = r.y_step, layers.y_sample = r.y_sample;
  layers.hn = r.hn, layers.cn = r.cn;
  return enqueue_cluster_layers(layers, stream);
}

template <class Of, int slots>
StitchStatus enqueue_cluster_recurrence(const ClusterRecurrence<Of, slots>& r, cudaStream_t stream) {
  if constexpr (Of::layers_at_once > 1)
    return enqueue_wavefront(r, stream);
  else
    return enqueue_layer_by_layer(r, stream);
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
