// The steps of a recurrence, with a layer's state held in a cluster of blocks. A cluster owns a few samples
// of one layer and direction; a block owns hidden units, whose weights stay in registers for all steps. Every
// step multiplies them with the state on tensor cores at FP32 accuracy, each number as two of fp16
// (split_pair.h), and sends the new state to all blocks of the cluster through distributed shared memory:
// nothing waits for L2.
//
// The first layer's part of the gates from its input, for all steps, is computed by a product before. Layers
// of one direction run as a wavefront: a second set of warps multiplies the states of the layer below, which
// come through L2 some steps ahead. All clusters must be resident then. Otherwise each layer is a launch
// after its own product.
//
// A warp owns four units, 16 rows of weights. The eight columns of a product are four samples, their high
// parts and then their low ones, so that two products do the work of three. Shuffles combine the parts of a
// sum, then the gates of a unit and sample, then 16 bytes of the new state.
#pragma once

#include "stitch/kernels/recurrence_cluster_input.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/cluster.h"

namespace stitch {
namespace cluster_steps {

// Biases of a lane's two gates.
template <class Sizes, class Slot>
__device__ __forceinline__ void load_biases(const Slot& own, const Lane& l, float (&bias)[2]) {
  if (l.unit >= Sizes::hidden) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int slot = l.odd + 2 * r, from_input = Sizes::input_gate(slot),
              from_hidden = Sizes::hidden_gate(slot);
    if (own.input_bias && from_input >= 0) bias[r] += own.input_bias[from_input * Sizes::hidden + l.unit];
    if (own.hidden_bias && from_hidden >= 0) bias[r] += own.hidden_bias[from_hidden * Sizes::hidden + l.unit];
  }
}

// Even groups of lanes have gates 0 and 2, odd ones 1 and 3: all four for both.
__device__ __forceinline__ void exchange_gates(float (&gates)[4], float first, float second, int odd) {
  const float other_first = __shfl_xor_sync(0xffffffffu, first, 4),
              other_second = __shfl_xor_sync(0xffffffffu, second, 4);
  gates[0] = odd ? other_first : first, gates[1] = odd ? first : other_first;
  gates[2] = odd ? other_second : second, gates[3] = odd ? second : other_second;
}

// Four units of the new state into a buffer of every block of the cluster.
template <class Sizes, int peers_each>
__device__ __forceinline__ void send_state(const PeerAddress (&peers)[peers_each],
                                           const uint4 (&fours)[Sizes::sample_tiles], const Lane& l,
                                           int buffer) {
#pragma unroll
  for (int t = 0; t < Sizes::sample_tiles; ++t)
#pragma unroll
    for (int p = 0; p < peers_each; ++p)
      if (4 * t + l.in_tile < Sizes::samples && l.group + 8 * p < Sizes::cluster)
        send_16_bytes(peers[p] + (buffer * Sizes::state + Sizes::place(l.quad, 4 * t + l.in_tile)) * 16,
                      fours[t], peers[p] + Sizes::barriers_at + buffer * 8);
}

// A unit's state after step `i`, for a sample of tile `t`.
template <class Sizes, class Arguments>
__device__ __forceinline__ void write_state(const Arguments& a, const Role& role, const Lane& l, int i, int t,
                                            float value, float cell) {
  const int step = role.direction ? a.sizes.steps - 1 - i : i;
  const int sample = role.first_sample + 4 * t + l.in_tile;
  if (a.y && role.layer + 1 == Sizes::layers_at_once)
    a.y[step * a.y_step + sample * a.y_sample + role.direction * Sizes::hidden + l.unit] = value;
  if (i + 1 < a.sizes.steps) return;
  const int64_t at = (static_cast<int64_t>(role.slot) * a.sizes.batch + sample) * Sizes::hidden + l.unit;
  if (a.hn) a.hn[at] = value;
  if (a.cn) a.cn[at] = cell;
}

template <class Sizes, class Arguments>
__device__ __forceinline__ void take_steps(const Arguments& a, const Role& role, const Lane& l, uint4* memory,
                                           const float* scales, float2* given, ArrivalBarrier* barriers) {
  constexpr int tiles = Sizes::sample_tiles;
  const auto& own = a.of[role.slot];
  // Without a wavefront a lane prefetches its part of the gates itself.
  const float* from[tiles];
#pragma unroll
  for (int t = 0; t < tiles; ++t) from[t] = given_to<Sizes>(a, role, l, t);
  const int64_t stride = from_step_to_step<Sizes>(a, role);
  auto given_at = [&](int i, int t) {
    return given + ((i % Sizes::stages * Sizes::warps + l.warp) * tiles + t) * 32 + l.lane;
  };
  auto fetch_given = [&](int i) {
    if (Sizes::wavefront) return;
    if (i < a.sizes.steps) {
#pragma unroll
      for (int t = 0; t < tiles; ++t)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const int gate = Sizes::input_gate(l.odd + 2 * r);
          if (gate >= 0 && from[t])
            copy_4_bytes(reinterpret_cast<float*>(given_at(i, t)) + r, from[t] + i * stride + gate, true);
        }
    }
    close_copies();
  };
#pragma unroll
  for (int i = 0; i < Sizes::stages; ++i) fetch_given(i);

  Rows<Sizes> rows;
  rows.template load<false>(own.hidden, l.unit, l.group, l.pair);
  float bias[2] = {};
  load_biases<Sizes>(own, l, bias);
  RecurrenceCell<Sizes::kind> cells[tiles] = {};
  float undo_state[tiles], scale[tiles];
  bool valid[tiles];
#pragma unroll
  for (int t = 0; t < tiles; ++t) {
    const int own_sample = 4 * t + l.in_tile, sample = role.first_sample + own_sample;
    valid[t] = l.unit < Sizes::hidden && own_sample < Sizes::samples && sample < a.sizes.batch;
    undo_state[t] = 1.0f / scales[own_sample];
    scale[t] = Sizes::kind == RecurrenceKind::gru ? scales[own_sample] : usual_scale;
    const float* before = Sizes::kind == RecurrenceKind::lstm ? a.c0 : a.h0;
    if (valid[t])
      cells[t].before =
          before[(static_cast<int64_t>(role.slot) * a.sizes.batch + sample) * Sizes::hidden + l.unit];
  }
  // A lane sends to every eighth block.
  constexpr int peers_each = Sizes::up(Sizes::cluster, 8);
  PeerAddress peers[peers_each];
#pragma unroll
  for (int p = 0; p < peers_each; ++p)
    peers[p] = peer_memory<Sizes::cluster>(memory, l.group + 8 * p < Sizes::cluster ? l.group + 8 * p : 0);
  const bool is_last_layer = role.layer + 1 == Sizes::layers_at_once;
  uint4* published = a.published + (static_cast<int64_t>(role.layer) * Sizes::chunks(a.sizes) + role.chunk) *
                                       a.sizes.steps * Sizes::state;

#pragma unroll 1
  for (int i = 0; i < a.sizes.steps; ++i) {
    if constexpr (Sizes::wavefront)
      wait_at(given_full + (i & 1), Sizes::threads);
    else
      wait_for_copies<Sizes::stages - 1>();
    float2 input[tiles];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      input[t] = *given_at(i, t);
      input[t].x += bias[0], input[t].y += bias[1];
    }
    if constexpr (Sizes::wavefront) {
      __syncwarp();
      if (i + 2 < a.sizes.steps) arrive_at(given_empty + (i & 1), Sizes::threads);
    }
    if (l.quad >= Sizes::quads) continue;  // a whole warp
    if (i > 0) barriers[i & 1].wait(static_cast<unsigned>((i - 1) / 2 & 1));
    float sums[tiles][2], values[tiles];
    rows.multiply(memory + (i & 1) * Sizes::state, l.group, l.pair, sums);
    // Phase by phase over all tiles, to overlap latencies.
    float gates[tiles][4];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      exchange_gates(gates[t], fmaf(sums[t][0], undo_state[t], input[t].x),
                     fmaf(sums[t][1], undo_state[t], input[t].y), l.odd);
    }
    uint32_t words[tiles];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      values[t] = cells[t].next(gates[t]);
      words[t] = split_half_word<small_scale>(values[t] * scale[t]);
    }
    uint4 fours[tiles];
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      uint32_t of_units[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) of_units[u] = __shfl_sync(0xffffffffu, words[t], 8 * u + l.lane % 8);
      fours[t] = quad_of(of_units, l.quad);
    }
    if (i + 1 < a.sizes.steps) send_state<Sizes>(peers, fours, l, (i + 1) & 1);

    // Nothing waits for the last steps. Bytes that arrive before they are expected count, too.
    if (i > 0 && i + 2 < a.sizes.steps && l.warp == 0 && l.lane == 0)
      barriers[i & 1].expect(Sizes::arriving_bytes);
    if constexpr (Sizes::wavefront)
#pragma unroll
      for (int t = 0; t < tiles; ++t)
        if (4 * t + l.in_tile < Sizes::samples && l.group == 0 && !is_last_layer)
          publish_16_bytes(
              published + static_cast<int64_t>(i) * Sizes::state + Sizes::place(l.quad, 4 * t + l.in_tile),
              fours[t]);
    if (Sizes::kind != RecurrenceKind::gru && i == 0)
#pragma unroll
      for (int t = 0; t < tiles; ++t) undo_state[t] = 1.0f / usual_scale;
    fetch_given(i + Sizes::stages);
#pragma unroll
    for (int t = 0; t < tiles; ++t)
      if (valid[t] && !l.odd) write_state<Sizes>(a, role, l, i, t, values[t], cells[t].before);
  }
}

template <class Of>
__global__ void __launch_bounds__(ClusterSizes<Of>::threads, 1)
    kernel(const __grid_constant__ ClusterLayers<Of> a) {
  wait_for_previous_kernel();
  using Sizes = ClusterSizes<Of>;
  extern __shared__ uint4 cluster_memory[];  // (states, state)
  char* bytes = reinterpret_cast<char*>(cluster_memory);
  float2* given = reinterpret_cast<float2*>(cluster_memory +
                                            Sizes::states * Sizes::state);  // (stages, warps, tiles, lanes)
  float* scales = reinterpret_cast<float*>(bytes + Sizes::scales_at);
  ArrivalBarrier* barriers = reinterpret_cast<ArrivalBarrier*>(bytes + Sizes::barriers_at);
  const int thread = static_cast<int>(threadIdx.x);
  const Role role = role_of_block<Sizes>(Sizes::chunks(a.sizes));

  for (int i = thread; i < Sizes::scales_at / 16; i += Sizes::threads) cluster_memory[i] = uint4{};
  for (int i = thread; i < 2 * 4 * Sizes::sample_tiles; i += Sizes::threads) scales[i] = 1.0f;
  if (thread == 0)
    for (int b = 0; b < 2; ++b) {
      barriers[b].begin();
      barriers[b].expect(Sizes::arriving_bytes);
    }
  __syncthreads();
  begin_states<Sizes>(a, role, cluster_memory, scales, thread / 32, thread % 32);
  __syncthreads();
  enter_cluster(cluster_memory);
  const Lane lane(role, thread % Sizes::step_threads);
  if (thread < Sizes::step_threads) {
    take_steps<Sizes>(a, role, lane, cluster_memory, scales, given, barriers);
  } else if constexpr (Sizes::wavefront) {
    if (role.layer == 0)
      copy_given<Sizes>(a, role, lane, given);
    else
      multiply_below<Sizes>(a, role, lane, cluster_memory + 2 * Sizes::state, scales, given);
  }
  __syncwarp();
  leave_cluster();
}

}  // namespace cluster_steps

template <class Of>
StitchStatus enqueue_cluster_layers(const ClusterLayers<Of>& layers, cudaStream_t stream) {
  using Sizes = ClusterSizes<Of>;
  return launch_clusters("cluster_recurrence", cluster_steps::kernel<Of>,
                         {blocks_of(int64_t{Sizes::slots} * Sizes::chunks(layers.sizes) * Sizes::cluster),
                          Sizes::threads, Sizes::shared_bytes, Sizes::wavefront},
                         Sizes::cluster, stream, layers);
}

}  // namespace stitch
