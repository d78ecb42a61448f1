// Where the gates' share of the input comes from in a wavefront of layers (recurrence_cluster_steps.h): of
// the first layer from memory, where a product left it; of the others from the states of the layer below,
// which a block's other half of the warps multiplies some steps ahead.
#pragma once

#include "stitch/kernels/recurrence_cluster_rows.h"
#include "stitch/kernels/recurrence_exchange.h"

namespace stitch::cluster_steps {
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
__device__ __forceinline__ void copy_given(const Arguments& a, const Role& role, const Lane& l,
                                           float2* given) {
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
__device__ __forceinline__ void multiply_below(const Arguments& a, const Role& role, const Lane& l,
                                               uint4* below, const float* scales, float2* given) {
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
    undo_state[t] =
        1.0f / (S::kind == RecurrenceKind::gru ? scales[4 * (S::sample_tiles + t) + l.in_tile] : usual_scale);
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
        read_exchange(published + static_cast<int64_t>(i) * S::state + (places[j] < 0 ? 0 : places[j]),
                      missing, next[j]);
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

}  // namespace stitch::cluster_steps
