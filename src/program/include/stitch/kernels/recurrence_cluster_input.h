// The input's part of the gates in a wavefront of layers (recurrence_cluster_steps.h): the first layer reads
// the result of a product from memory; the others multiply the states of the layer below, some steps ahead,
// with the second half of a block's warps.
#pragma once

#include "stitch/kernels/recurrence_cluster_rows.h"
#include "stitch/kernels/recurrence_exchange.h"

namespace stitch::cluster_steps {
// Address of the input's part for a lane's sums; null: none.
template <class Sizes, class Arguments>
__device__ __forceinline__ const float* given_to(const Arguments& a, const Role& role, const Lane& l,
                                                 int tile) {
  const float* given = a.of[role.slot].given;
  const int sample = 4 * tile + l.in_tile;
  if (!given || l.unit >= Sizes::hidden || sample >= Sizes::samples ||
      role.first_sample + sample >= a.sizes.batch)
    return nullptr;
  const int64_t step = role.direction ? a.sizes.steps - 1 : 0;
  return given +
         ((step * a.sizes.batch + role.first_sample + sample) * Sizes::hidden + l.unit) * Sizes::gates;
}
template <class Sizes, class Arguments>
__device__ __forceinline__ int64_t from_step_to_step(const Arguments& a, const Role& role) {
  return static_cast<int64_t>(role.direction ? -1 : 1) * a.sizes.batch * Sizes::hidden * Sizes::gates;
}

// In a wavefront: the first layer's part of the gates, from memory.
template <class Sizes, class Arguments>
__device__ __forceinline__ void copy_given(const Arguments& a, const Role& role, const Lane& l,
                                           float2* given) {
  const float* from[Sizes::sample_tiles];
  float2 next[Sizes::sample_tiles] = {};
  const int64_t stride = from_step_to_step<Sizes>(a, role);
  const int first = Sizes::input_gate(l.odd), second = Sizes::input_gate(l.odd + 2);
  auto ask = [&](int i) {
#pragma unroll
    for (int t = 0; t < Sizes::sample_tiles; ++t) {
      if (!from[t]) continue;
      if (first >= 0) next[t].x = __ldg(from[t] + i * stride + first);
      if (second >= 0) next[t].y = __ldg(from[t] + i * stride + second);
    }
  };
#pragma unroll
  for (int t = 0; t < Sizes::sample_tiles; ++t) from[t] = given_to<Sizes>(a, role, l, t);
  ask(0);
#pragma unroll 1
  for (int i = 0; i < a.sizes.steps; ++i) {
    const int odd = i & 1;
    if (i >= 2) wait_at(given_empty + odd, Sizes::threads);
#pragma unroll
    for (int t = 0; t < Sizes::sample_tiles; ++t)
      given[((odd * Sizes::warps + l.warp) * Sizes::sample_tiles + t) * 32 + l.lane] = next[t];
    __syncwarp();
    arrive_at(given_full + odd, Sizes::threads);
    if (i + 1 < a.sizes.steps) ask(i + 1);
  }
}

// In a wavefront: the other layers' part, from the states of the layer below as they are published.
template <class Sizes, class Arguments>
__device__ __forceinline__ void multiply_below(const Arguments& a, const Role& role, const Lane& l,
                                               uint4* below, const float* scales, float2* given) {
  constexpr int count = Sizes::sample_tiles * Sizes::quads * 4, each = Sizes::up(count, Sizes::step_threads);
  const uint4* published =
      a.published + (static_cast<int64_t>(role.layer - 1) * Sizes::chunks(a.sizes) + role.chunk) *
                        a.sizes.steps * Sizes::state;
  const int thread = l.warp * 32 + l.lane;
  int places[each];  // -1: none
  uint4 next[each];
#pragma unroll
  for (int j = 0; j < each; ++j) {
    const int at = thread + j * Sizes::step_threads, sample = at / (4 * Sizes::quads) * 4 + at % 4;
    places[j] = at < count && sample < Sizes::samples ? Sizes::place(at / 4 % Sizes::quads, sample) : -1;
    next[j] = uint4{};
  }
  auto ask = [&](int i) {
#pragma unroll
    for (int j = 0; j < each; ++j)
      read_exchange(published + static_cast<int64_t>(i) * Sizes::state + (places[j] < 0 ? 0 : places[j]),
                    places[j] >= 0, next[j]);
  };
  ask(0);
  Rows<Sizes> rows;
  rows.template load<true>(a.of[role.slot].input, l.unit, l.group, l.pair);
  float undo_state[Sizes::sample_tiles];
#pragma unroll
  for (int t = 0; t < Sizes::sample_tiles; ++t)
    undo_state[t] =
        1.0f / (Sizes::kind == RecurrenceKind::gru ? scales[4 * (Sizes::sample_tiles + t) + l.in_tile]
                                                   : usual_scale);
#pragma unroll 1
  for (int i = 0; i < a.sizes.steps; ++i) {
    const int odd = i & 1;
    uint4* state = below + odd * Sizes::state;
    // Poll one word first: polling all would take bandwidth from blocks that are still computing.
    while (is_missing(next[0])) {
      read_exchange(published + static_cast<int64_t>(i) * Sizes::state + places[0], true, next[0]);
#if STITCH_EMULATED
      __nanosleep(0);  // emulated: runs other threads
#endif
    }
    for (bool waiting = true; waiting;) {
      waiting = false;
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const bool missing = is_missing(next[j]);
        read_exchange(published + static_cast<int64_t>(i) * Sizes::state + (places[j] < 0 ? 0 : places[j]),
                      missing, next[j]);
        waiting |= missing;
      }
#if STITCH_EMULATED
      if (waiting) __nanosleep(0);  // emulated: runs other blocks
#endif
    }
#pragma unroll
    for (int j = 0; j < each; ++j)
      if (places[j] >= 0) state[places[j]] = next[j];
    wait_at(received, Sizes::step_threads);
    if (i + 1 < a.sizes.steps) ask(i + 1);
    float sums[Sizes::sample_tiles][2];
    rows.multiply(state, l.group, l.pair, sums);
    if (i >= 2) wait_at(given_empty + odd, Sizes::threads);
#pragma unroll
    for (int t = 0; t < Sizes::sample_tiles; ++t)
      given[((odd * Sizes::warps + l.warp) * Sizes::sample_tiles + t) * 32 + l.lane] = {
          sums[t][0] * undo_state[t], sums[t][1] * undo_state[t]};
    __syncwarp();
    arrive_at(given_full + odd, Sizes::threads);
  }
}

}  // namespace stitch::cluster_steps
