// Parts of recurrence_cluster_steps.h: sizes, work distribution, and weights as tensor-core operands.
#pragma once

#include "stitch/kernels/recurrence.h"
#include "stitch/kernels/split_pair.h"
#include "stitch/runtime/mma.h"

namespace stitch {
// A layer as described by generated code: `Of` has its sizes, and how many blocks and samples a cluster has.
// Steps and batch are read from an object, as in recurrence_persistent.h.
template <class Of>
struct ClusterSizes : Of {
  using Of::cluster, Of::directions, Of::hidden, Of::kind, Of::layers_at_once, Of::samples;
  __host__ __device__ static constexpr int up(int count, int by) { return (count + by - 1) / by; }

  static constexpr int gates = gates_of(kind);
  static constexpr int quads = up(hidden, 4);           // of units, 16 bytes of the state each
  static constexpr int units = up(quads, cluster) * 4;  // per block
  // Every block must have units: others don't wait for a block that sends nothing, and could overtake it.
  static_assert(up(quads, units / 4) == cluster, "every block owns units");
  static constexpr bool wavefront = layers_at_once > 1;
  static constexpr int warps = units / 4, step_threads = warps * 32;
  static constexpr int threads = wavefront ? 2 * step_threads : step_threads;
  static constexpr int depth_tiles = up(hidden, 16), sample_tiles = up(samples, 4);
  static constexpr int slots = layers_at_once * directions;
  __host__ __device__ static constexpr int chunks(Of of) { return up(of.batch, samples); }
  // Shared memory: the state of two steps, 16 bytes for four units of a sample, samples of a tile adjacent.
  static constexpr int state = sample_tiles * 4 * depth_tiles * 4;
  static constexpr int states = wavefront ? 4 : 2;  // two for the layer below
  // Then the input's part of as many steps, 8 bytes per lane and tile of samples.
  static constexpr int stages = wavefront ? 2 : 4, given = warps * sample_tiles * 32;
  static constexpr int scales_at = states * state * 16 + stages * given * 8;
  static constexpr int barriers_at = scales_at + 2 * 4 * sample_tiles * 4;  // also scales of the layer below
  static constexpr int shared_bytes = barriers_at + 2 * 8;
  static constexpr int arriving_bytes = samples * quads * 16;

  // Which gate a warp's rows belong to, of the weights and of the input's part. A gru's last gate needs both
  // separately. -1: none.
  __host__ __device__ static constexpr int hidden_gate(int slot) {
    return kind == RecurrenceKind::gru ? (slot == 3 ? 2 : slot == 2 ? -1 : slot) : slot < gates ? slot : -1;
  }
  __host__ __device__ static constexpr int input_gate(int slot) { return slot < gates ? slot : -1; }
  // Offset of four units of a sample.
  __host__ __device__ static constexpr int place(int quad, int sample) {
    return (sample / 4 * (4 * depth_tiles) + quad) * 4 + sample % 4;
  }
};

// One launch: all directions of a layer, or all layers.
template <class Of>
struct ClusterLayers {
  struct Slot {
    const float* given;        // (steps, batch, hidden, gates): the input's part of the gates, or null
    const float* input;        // (gates, hidden, hidden): for layers above another
    const float* hidden;       // (gates, hidden, hidden)
    const float* input_bias;   // (gates, hidden), or null
    const float* hidden_bias;  // (gates, hidden), or null
  } of[Of::layers_at_once * Of::directions];  // by layer, then direction
  const float *h0, *c0;                       // (slots, batch, hidden)
  uint4* published;                           // (layers - 1, chunks, steps, state), all bits set
  float* y;                                   // (steps, batch, directions · hidden) or null, strides:
  int64_t y_step, y_sample;
  float *hn, *cn;  // (slots, batch, hidden) or null
  Of sizes;
};

namespace cluster_steps {

constexpr float usual_scale = 16384.0f;  // for states of at most 1
// Two each, for even and odd steps, and one for the warps that multiply the layer below.
enum Barrier : int { given_full = 1, given_empty = 3, received = 5 };

// A block's layer, direction, samples and units.
struct Role {
  int layer, slot, direction, chunk, first_sample, first_quad;
};
template <class Sizes>
__device__ __forceinline__ Role role_of_block(int chunks) {
  const int rank = static_cast<int>(blockIdx.x) % Sizes::cluster,
            team = static_cast<int>(blockIdx.x) / Sizes::cluster;
  Role role{};
  role.chunk = team % chunks;
  role.slot = team / chunks;
  role.layer = role.slot / Sizes::directions;
  role.direction = role.slot % Sizes::directions;
  role.first_sample = role.chunk * Sizes::samples;
  role.first_quad = rank * (Sizes::units / 4);
  return role;
}
// A lane's rows and columns of a product's result.
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
        in_tile(pair % 2 * 2 + pair / 2) {}  // its sample in each tile
};

// Low parts are kept times 2048, above fp16's denormals.
constexpr int small_scale = 2048;

// Four units of a sample: high parts, low parts; swapped in every other two quads, so that 8-byte reads are
// free of bank conflicts.
__device__ __forceinline__ uint4 quad_of(const uint32_t (&words)[4], int quad) {
  constexpr uint32_t large = 0x5410, small = 0x7632;
  const uint32_t first = quad & 2 ? small : large, second = quad & 2 ? large : small;
  return {__byte_perm(words[0], words[1], first), __byte_perm(words[2], words[3], first),
          __byte_perm(words[0], words[1], second), __byte_perm(words[2], words[3], second)};
}

// 16 rows of weights: gate group % 2 of unit group / 2 in a lane's row group; eight rows further are two
// gates further. Each row has its own scale. Depths are in the lane order of a quad.
template <class Sizes>
struct Rows {
  MmaLeft large[Sizes::depth_tiles], small[Sizes::depth_tiles];
  float undo[2];

  // `of_input`: weights for the layer below, otherwise for the state.
  template <bool of_input>
  __device__ __forceinline__ void load(const float* weights, int unit, int group, int pair) {
    constexpr bool vectors = Sizes::hidden % 4 == 0;
    float values[2][Sizes::depth_tiles][4];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int slot = group % 2 + 2 * r,
                gate = of_input ? Sizes::input_gate(slot) : Sizes::hidden_gate(slot);
      const bool valid = gate >= 0 && unit < Sizes::hidden;
      const float* from =
          weights +
          (static_cast<int64_t>(valid ? gate : 0) * Sizes::hidden + (valid ? unit : 0)) * Sizes::hidden;
#pragma unroll
      for (int j = 0; j < Sizes::depth_tiles; ++j) {
        const int k = 16 * j + 4 * pair;
        if constexpr (vectors) {
          const float4 four =
              valid && k < Sizes::hidden ? __ldg(reinterpret_cast<const float4*>(from + k)) : float4{};
          values[r][j][0] = four.x, values[r][j][1] = four.y, values[r][j][2] = four.z,
          values[r][j][3] = four.w;
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            values[r][j][e] = valid && k + e < Sizes::hidden ? __ldg(from + k + e) : 0.0f;
        }
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      unsigned most = 0;
#pragma unroll
      for (int j = 0; j < Sizes::depth_tiles; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) most = max(most, __float_as_uint(fabsf(values[r][j][e])));
      most = max(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = max(most, __shfl_xor_sync(0xffffffffu, most, 2));
      const float scale = half_range_scale(most);
      undo[r] = 1.0f / scale;
#pragma unroll
      for (int j = 0; j < Sizes::depth_tiles; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const HalfPairs two =
              split_halves<small_scale>(values[r][j][2 * half] * scale, values[r][j][2 * half + 1] * scale);
          large[j].parts[2 * half + r] = two.high;
          small[j].parts[2 * half + r] = two.low;
        }
    }
  }

  // `state`: its start. Lanes with pair < 2 get the sums of a tile's sample 2 · pair, the others those of
  // sample 2 · pair - 3: rows group and group + 8.
  __device__ __forceinline__ void multiply(const uint4* state, int group, int pair,
                                           float (&sums)[Sizes::sample_tiles][2]) const {
    // Column `group` of a product, four units per pair.
    const uint2* at =
        reinterpret_cast<const uint2*>(state) + pair * 8 + group % 4 * 2 + (group / 4 ^ pair / 2);
    // Independent accumulators, to hide mma latency.
    constexpr int chains = Sizes::sample_tiles > 2 ? 1 : 4 / Sizes::sample_tiles;
    float by_large[Sizes::sample_tiles][chains][4] = {}, by_small[Sizes::sample_tiles][chains][4] = {};
#pragma unroll
    for (int j = 0; j < Sizes::depth_tiles; ++j)
#pragma unroll
      for (int t = 0; t < Sizes::sample_tiles; ++t) {
        const uint2 parts = at[(t * Sizes::depth_tiles + j) * 32];
        const MmaRight both{{parts.x, parts.y}};
        mma(by_large[t][j % chains], large[j], both);
        mma(by_small[t][j % chains], small[j], both);
      }
    const bool of_small = pair >= 2;  // columns of low parts
    // Factors instead of branches. Low times low is dropped.
    const float of_first = of_small ? 1.0f / small_scale : 1.0f,
                of_second = of_small ? 0.0f : 1.0f / small_scale;
#pragma unroll
    for (int t = 0; t < Sizes::sample_tiles; ++t) {
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

// The scale of a sample's states, which are at most 1 or as large as the first one. Called by a whole warp.
template <class Sizes>
__device__ __forceinline__ float state_scale(const float* h0, int lane) {
  unsigned most = __float_as_uint(1.0f);
  for (int k = lane; k < Sizes::hidden; k += 32) most = max(most, __float_as_uint(fabsf(h0[k])));
  return half_range_scale(__reduce_max_sync(0xffffffffu, most));
}

// The first state into shared memory, and each sample's scale, then those of the layer below.
template <class Sizes, class Arguments>
__device__ __forceinline__ void begin_states(const Arguments& a, const Role& role, uint4* state,
                                             float* scales, int warp, int lane) {
  const float* own = a.h0 + static_cast<int64_t>(role.slot) * a.sizes.batch * Sizes::hidden;
  for (int sample = warp; sample < Sizes::samples; sample += Sizes::threads / 32) {
    if (role.first_sample + sample >= a.sizes.batch) continue;
    const float* from = own + static_cast<int64_t>(role.first_sample + sample) * Sizes::hidden;
    const float scale = state_scale<Sizes>(from, lane);
    if (lane == 0) scales[sample] = scale;
    for (int quad = lane; quad < Sizes::quads; quad += 32) {
      uint32_t words[4];
#pragma unroll
      for (int e = 0; e < 4; ++e)
        words[e] =
            split_half_word<small_scale>(4 * quad + e < Sizes::hidden ? from[4 * quad + e] * scale : 0.0f);
      state[Sizes::place(quad, sample)] = quad_of(words, quad);
    }
    if (Sizes::wavefront && Sizes::kind == RecurrenceKind::gru && role.layer > 0) {
      const float below = state_scale<Sizes>(
          from - static_cast<int64_t>(Sizes::directions) * a.sizes.batch * Sizes::hidden, lane);
      if (lane == 0) scales[4 * Sizes::sample_tiles + sample] = below;
    }
  }
}

}  // namespace cluster_steps
}  // namespace stitch
