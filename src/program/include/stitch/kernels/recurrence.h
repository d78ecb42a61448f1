// One step of a recurrence in one direction: the state's part of the gates and the cell in one kernel. A warp
// computes one hidden unit for up to 8 samples, so that its rows of the weight are read once for all of them.
// The input's part of all steps is computed by one product before. A step reads the weight (gates · hidden,
// output) from L2 and costs one launch.
#pragma once

#include <cstdint>

#include "stitch/loops/math.h"
#include "stitch/runtime/launch.h"

namespace stitch {
enum class RecurrenceKind { lstm, gru, tanh, relu };
__host__ __device__ constexpr int gates_of(RecurrenceKind kind) {
  return kind == RecurrenceKind::lstm ? 4 : kind == RecurrenceKind::gru ? 3 : 1;
}

struct RecurrenceWeights {
  const float* input;        // (gates, hidden, features)
  const float* hidden;       // (gates, hidden, hidden)
  const float* input_bias;   // (gates, hidden), or null
  const float* hidden_bias;  // (gates, hidden), or null
};

// 2^x and 1 / x within 2 ulp, in one instruction each.
__device__ __forceinline__ float quick_exp2(float x) {
#if STITCH_EMULATED
  return exp2f(x);
#else
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
#endif
}
__device__ __forceinline__ float quick_reciprocal(float x) {
#if STITCH_EMULATED
  return 1.0f / x;
#else
  float out;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
#endif
}
// `below` where x is less than `limit`. In PTX, since the compiler would branch, and a step would wait for
// both paths.
__device__ __forceinline__ float select_below(float x, float limit, float below, float otherwise) {
#if STITCH_EMULATED
  return x < limit ? below : otherwise;
#else
  float out;
  asm("{\n  .reg .pred less;\n  setp.lt.f32 less, %1, %2;\n  selp.f32 %0, %3, %4, less;\n}"
      : "=f"(out)
      : "f"(x), "f"(limit), "f"(below), "f"(otherwise));
  return out;
#endif
}
// Both within a few ulp.
__device__ __forceinline__ float gate_sigmoid(float x) {
  return quick_reciprocal(1.0f + quick_exp2(-1.44269504f * x));
}
__device__ __forceinline__ float gate_tanh(float x) {
  const float magnitude = fabsf(x), square = x * x;
  const float large = fmaf(-2.0f, quick_reciprocal(1.0f + quick_exp2(2.88539008f * magnitude)), 1.0f);
  float small = fmaf(1.57394409e-2f, square, -5.23025580e-2f);
  small = fmaf(small, square, 1.33152470e-1f);
  small = fmaf(small, square, -3.33327681e-1f) * square;
  return select_below(magnitude, 0.55f, fmaf(small, x, x), copysignf(large, x));
}

// A thread's state of one unit and sample between two steps. Sums: of each gate; a gru's last one is the
// input's part, then the state's.
template <RecurrenceKind kind>
struct RecurrenceCell {
  float before;  // an lstm's cell, a gru's state

  template <int count>
  __device__ __forceinline__ float next(const float (&sums)[count]) {
    if constexpr (kind == RecurrenceKind::lstm) {
      before = gate_sigmoid(sums[1]) * before + gate_sigmoid(sums[0]) * gate_tanh(sums[2]);
      return gate_sigmoid(sums[3]) * gate_tanh(before);
    } else if constexpr (kind == RecurrenceKind::gru) {
      const float reset = gate_sigmoid(sums[0]), update = gate_sigmoid(sums[1]);
      const float fresh = gate_tanh(sums[2] + reset * sums[3]);
      before = (1.0f - update) * fresh + update * before;
      return before;
    } else {
      return kind == RecurrenceKind::relu ? (sums[0] < 0.0f ? 0.0f : sums[0]) : gate_tanh(sums[0]);
    }
  }
};

template <class Number>
struct RecurrenceStep {
  int batch = 0, hidden = 0,
      output = 0;  // output: size of the state, which a projection makes smaller than hidden
  const Number* from_input = nullptr;  // (batch, gates, hidden), its bias added
  const Number* weight = nullptr;      // (gates, hidden, output)
  const Number* bias = nullptr;        // (gates, hidden) of the state's part, or null
  const Number* state = nullptr;       // (batch, output), rows `state_stride` apart
  int64_t state_stride = 0;
  const Number* cell_before = nullptr;  // (batch, hidden): an lstm's
  Number* cell = nullptr;               // (batch, hidden), may be cell_before
  Number* result = nullptr;             // (batch, hidden), rows `result_stride` apart
  int64_t result_stride = 0;
  Number* last = nullptr;  // (batch, hidden): another destination of the state, or null
};

constexpr int recurrence_samples = 8, recurrence_warps = 4;

template <RecurrenceKind kind, class Number>
__global__ void __launch_bounds__(recurrence_warps * 32) recurrence_step_kernel(RecurrenceStep<Number> s) {
  wait_for_previous_kernel();
  constexpr int gates = gates_of(kind);
  const int unit = static_cast<int>(blockIdx.x) * recurrence_warps + static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32,
            first = static_cast<int>(blockIdx.y) * recurrence_samples;
  if (unit >= s.hidden) return;  // whole warps
  Number sums[gates][recurrence_samples] = {};
  for (int i = lane; i < s.output; i += 32) {
    Number weights[gates];
#pragma unroll
    for (int g = 0; g < gates; ++g)
      weights[g] = s.weight[(static_cast<int64_t>(g) * s.hidden + unit) * s.output + i];
#pragma unroll
    for (int b = 0; b < recurrence_samples; ++b) {
      Number state = first + b < s.batch ? s.state[(first + b) * s.state_stride + i] : Number{};
#pragma unroll
      for (int g = 0; g < gates; ++g) sums[g][b] += weights[g] * state;
    }
  }
#pragma unroll
  for (int g = 0; g < gates; ++g)
#pragma unroll
    for (int b = 0; b < recurrence_samples; ++b)
#pragma unroll
      for (int mask = 16; mask > 0; mask /= 2) sums[g][b] += __shfl_xor_sync(0xffffffffu, sums[g][b], mask);
#pragma unroll
  for (int b = 0; b < recurrence_samples; ++b) {
    const int sample = first + b;
    if (lane != b || sample >= s.batch) continue;  // one lane per sample
    Number x[gates], h[gates];
#pragma unroll
    for (int g = 0; g < gates; ++g) {
      x[g] = s.from_input[(static_cast<int64_t>(sample) * gates + g) * s.hidden + unit];
      h[g] = sums[g][b] + (s.bias ? s.bias[g * s.hidden + unit] : Number{});
    }
    const int64_t at = static_cast<int64_t>(sample) * s.hidden + unit;
    Number value;
    if constexpr (kind == RecurrenceKind::lstm) {
      Number cell = sigmoid(x[1] + h[1]) * s.cell_before[at] + sigmoid(x[0] + h[0]) * tanh(x[2] + h[2]);
      s.cell[at] = cell;
      value = sigmoid(x[3] + h[3]) * tanh(cell);
    } else if constexpr (kind == RecurrenceKind::gru) {
      // As in PyTorch: the reset gate is applied after the state's product and bias.
      Number reset = sigmoid(x[0] + h[0]), update = sigmoid(x[1] + h[1]);
      Number fresh = tanh(x[2] + reset * h[2]);
      value = (Number{1} - update) * fresh + update * s.state[sample * s.state_stride + unit];
    } else {
      Number sum = x[0] + h[0];
      value = kind == RecurrenceKind::relu ? (sum < Number{} ? Number{} : sum) : tanh(sum);
    }
    s.result[sample * s.result_stride + unit] = value;
    if (s.last) s.last[at] = value;
  }
}

template <RecurrenceKind kind, class Number>
StitchStatus enqueue_recurrence_step(const RecurrenceStep<Number>& step, cudaStream_t stream) {
  if (step.batch == 0 || step.hidden == 0) return STITCH_OK;
  dim3 blocks(static_cast<unsigned>(divide_up(step.hidden, recurrence_warps)),
              static_cast<unsigned>(divide_up(step.batch, recurrence_samples)));
  return launch("recurrence_step", recurrence_step_kernel<kind, Number>, {blocks, recurrence_warps * 32},
                stream, step);
}

// result (batch, output) = hidden (batch, hidden) · weightᵀ (output, hidden): an lstm's projection. One warp
// per element.
template <class Number>
__global__ void __launch_bounds__(128)
    project_state_kernel(const Number* __restrict__ hidden_state, const Number* __restrict__ weight,
                         Number* __restrict__ result, int64_t result_stride, Number* __restrict__ last,
                         int batch, int hidden, int output) {
  wait_for_previous_kernel();
  const int element = static_cast<int>(blockIdx.x) * 4 + static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32, sample = element / output, unit = element % output;
  if (sample >= batch) return;
  Number sum{};
  for (int i = lane; i < hidden; i += 32)
    sum += hidden_state[static_cast<int64_t>(sample) * hidden + i] *
           weight[static_cast<int64_t>(unit) * hidden + i];
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (lane != 0) return;
  result[sample * result_stride + unit] = sum;
  if (last) last[static_cast<int64_t>(sample) * output + unit] = sum;
}
template <class Number>
StitchStatus enqueue_projection(const Number* hidden_state, const Number* weight, Number* result,
                                int64_t result_stride, Number* last, int batch, int hidden, int output,
                                cudaStream_t stream) {
  return launch("project_state", project_state_kernel<Number>,
                {static_cast<unsigned>(divide_up(int64_t{batch} * output, 4)), 128}, stream, hidden_state,
                weight, result, result_stride, last, batch, hidden, output);
}

}  // namespace stitch
