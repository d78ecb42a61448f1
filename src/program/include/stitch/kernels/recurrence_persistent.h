// A recurrence whose weights never leave the registers. Every block owns a few hidden units of one layer and
// direction for all steps; layers run as a wavefront, each a step behind the one below. Blocks exchange the
// state through L2: memory is filled with a NaN that no computation makes, so a number that is there is its
// own flag, and a step costs one trip to L2 and no barrier between blocks. All arithmetic in FP32.
//
// A block's warps: some fetch the next input, some wait for the state, the others multiply. The input's share
// of the gates is computed while the state is on its way. A unit's sum over its features is split over
// `slices` lanes, each with its weights in registers; all blocks must be resident at once.
#pragma once

#include "stitch/kernels/recurrence.h"
#include "stitch/kernels/recurrence_exchange.h"
#include "stitch/kernels/shared_memory.h"

namespace stitch {
// What generated code says of a recurrence: `Of` has its sizes, and how it is spread over the machine.
template <class Of>
struct PersistentSizes : Of {
  using Of::batch, Of::directions, Of::hidden, Of::input, Of::input_warps, Of::kind, Of::layers,
      Of::layers_at_once, Of::samples, Of::slices, Of::state_warps, Of::steps, Of::units, Of::units_each;
  __host__ __device__ static constexpr int up(int count, int by) { return (count + by - 1) / by; }

  static constexpr int gates = gates_of(kind);
  // A gru's last gate needs the shares of input and state apart.
  static constexpr int sums = kind == RecurrenceKind::gru ? 4 : gates;
  static constexpr int width = directions * hidden;
  static constexpr int chunks = up(batch, samples);  // of the batch
  static constexpr int parts = up(hidden, units);    // of a layer's units
  static constexpr int blocks = layers_at_once * directions * chunks * parts;
  static constexpr int quads = up(samples, 4);  // of samples, 16 bytes each
  // Rows of shared memory, one a feature: an odd number of quads, so that 8 lanes meet 8 groups of banks.
  static constexpr int row = (quads % 2 ? quads : quads + 1) * 4;
  static constexpr int state_rows = up(hidden, slices) * slices;
  static constexpr int input_rows = up(input > width ? input : width, slices) * slices;
  static constexpr int shared_bytes =
      shared_memory::persistent_recurrence(hidden, input > width ? input : width, samples, slices);
  static_assert(shared_bytes == 2 * (state_rows + input_rows) * row * 4);

  static constexpr int compute_threads = up(up(units, units_each) * slices, 32) * 32;
  static constexpr int state_threads = state_warps * 32, input_threads = input_warps * 32;
  static constexpr int threads = compute_threads + state_threads + input_threads;

  // How many samples a lane is left with after the slices were added up.
  __host__ __device__ static constexpr int kept() {
    int count = samples;
    for (int mask = 1; mask < slices; mask *= 2) count = up(count, 2);
    return count;
  }

  // A layer's states of all steps, kept until the layer above has read them.
  static constexpr int layers_kept = layers_at_once < layers ? layers_at_once + 1 : layers;
  static constexpr int64_t floats_a_step = int64_t{width} * quads * 4;
  static constexpr int64_t floats_a_layer = chunks * steps * floats_a_step;
  static constexpr int64_t exchanged_bytes = layers_kept * floats_a_layer * 4;
  __host__ __device__ static constexpr int64_t exchange_at(int layer, int chunk, int step) {
    return layer % layers_kept * floats_a_layer + (int64_t{chunk} * steps + step) * floats_a_step;
  }
};

// One launch: `layers_at_once` layers from `first_layer` on.
template <class Of, int slots>
struct PersistentRecurrence {
  int first_layer;
  RecurrenceWeights weights[slots];  // by layer, then direction
  const float* x;                    // (steps, batch, input), strides:
  int64_t x_step, x_sample, x_feature;
  const float *h0, *c0;  // (layers · directions, batch, hidden)
  float* exchange;       // (layers_kept, chunks, steps, directions · hidden, 4 · quads)
  float* y;              // (steps, batch, directions · hidden) or null, strides:
  int64_t y_step, y_sample;
  float *hn, *cn;  // (layers · directions, batch, hidden) or null
};

// What a program keeps of a persistent recurrence: that the machine it was planned for is there.
struct ResidentBlocks {
  static StitchStatus create(int blocks) {
    int device = 0, processors = 0;
    STITCH_CUDA(cudaGetDevice(&device));
    STITCH_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    if (processors >= blocks) return STITCH_OK;
    return fail(STITCH_UNSUPPORTED,
                "persistent recurrence: %d blocks wait for each other, and this GPU has %d multiprocessors; "
                "plan the program for this GPU",
                blocks, processors);
  }
};

namespace persistent {

// Two each, of even and odd steps, but the last.
enum Barrier : int { state_full = 1, input_full = 3, input_empty = 5, published = 7 };

__device__ __forceinline__ void publish(float* at, float value) {
  uint32_t bits = __float_as_uint(value);
  if (bits == unpublished) bits = 0x7fffffffu;  // another NaN
#if STITCH_EMULATED
  *reinterpret_cast<volatile uint32_t*>(at) = bits;
#else
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(bits) : "memory");
#endif
}

// Published rows into shared memory, as soon as they are all there.
template <class S, int rows, int threads>
__device__ __forceinline__ void receive(const float* exchange, float* shared, int thread) {
  constexpr int count = rows * S::quads, each = S::up(count, threads), at_once = each < 24 ? each : 24;
  constexpr bool even = count % (at_once * threads) == 0;
  const uint4* from = reinterpret_cast<const uint4*>(exchange);
#pragma unroll 1
  for (int first = thread; first < count; first += at_once * threads) {
    uint4 values[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      values[j] = uint4{};
      read_exchange(from + first + j * threads, even || first + j * threads < count, values[j]);
    }
    for (bool waiting = true; waiting;) {
      waiting = false;
#pragma unroll
      for (int j = 0; j < at_once; ++j) {
        const bool missing = is_missing(values[j]);
        read_exchange(from + first + j * threads, missing, values[j]);
        waiting |= missing;
      }
#if STITCH_EMULATED
      if (waiting) __nanosleep(0);  // lets other blocks run
#endif
    }
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      const int at = first + j * threads;
      const int to = S::row == S::quads * 4 ? at * 4 : at / S::quads * S::row + at % S::quads * 4;
      if (even || at < count) *reinterpret_cast<uint4*>(shared + to) = values[j];
    }
  }
}

// Waits for one of a lane's quads before it asks for all: a step of the layer below may be far off, and
// reading everything over and over would slow down those who are in a hurry.
template <class S, int rows, int threads>
__device__ __forceinline__ void await(const float* exchange, int thread) {
  if (thread >= rows * S::quads) return;
  uint4 value{};
  do {
    read_exchange(reinterpret_cast<const uint4*>(exchange) + thread, true, value);
#if STITCH_EMULATED
    if (is_missing(value)) __nanosleep(0);
#endif
  } while (is_missing(value));
}

// The model's own input of one step, features into rows.
template <class S, int threads, class Arguments>
__device__ __forceinline__ void receive_x(const Arguments& a, int step, int first_sample, float* shared,
                                          int thread) {
  const float* x = a.x + step * a.x_step + first_sample * a.x_sample;
  const int samples = S::batch - first_sample < S::samples ? S::batch - first_sample : S::samples;
  const bool by_quads = S::input % 4 == 0 && a.x_feature == 1 && a.x_step % 4 == 0 && a.x_sample % 4 == 0 &&
                        reinterpret_cast<uintptr_t>(a.x) % 16 == 0;
  if (by_quads) {
    constexpr int count = S::samples * (S::input / 4), all = S::up(count, threads),
                  each = all < 16 ? all : 16;
#pragma unroll 1
    for (int first = thread; first < count; first += each * threads) {
      float4 values[each];
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const int at = first + j * threads, sample = at % S::samples;
        values[j] = at < count && sample < samples
                        ? __ldg(reinterpret_cast<const float4*>(x + sample * a.x_sample) + at / S::samples)
                        : float4{};
      }
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const int at = first + j * threads;
        if (at >= count) continue;
        float* to = shared + at / S::samples * 4 * S::row + at % S::samples;
        to[0] = values[j].x;
        to[S::row] = values[j].y;
        to[2 * S::row] = values[j].z;
        to[3 * S::row] = values[j].w;
      }
    }
    return;
  }
#pragma unroll 4
  for (int at = thread; at < S::samples * S::input; at += threads) {
    const int sample = at / S::input, feature = at % S::input;
    shared[feature * S::row + sample] =
        sample < samples ? x[sample * a.x_sample + feature * a.x_feature] : 0.0f;
  }
}

// A lane's features: slice, slice + slices, …; weights beyond the last one are zero.
template <class S, int features>
struct Slice {
  static constexpr int count = S::up(features, S::slices);
  float weights[S::units_each][S::gates][count];

  __device__ __forceinline__ void load(const float* matrix, int first_unit, int slice) {
#pragma unroll
    for (int u = 0; u < S::units_each; ++u)
#pragma unroll
      for (int g = 0; g < S::gates; ++g)
#pragma unroll
        for (int i = 0; i < count; ++i) {
          const int unit = first_unit + u, feature = slice + i * S::slices;
          weights[u][g][i] = unit < S::hidden && feature < features
                                 ? matrix[(static_cast<int64_t>(g) * S::hidden + unit) * features + feature]
                                 : 0.0f;
        }
  }

  // `shift`: where a gru's last gate is added up.
  template <int shift>
  __device__ __forceinline__ void multiply(const float* rows, int slice,
                                           float (&sums)[S::units_each][S::sums][S::samples]) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const float* row = rows + (slice + i * S::slices) * S::row;
#pragma unroll
      for (int q = 0; q < S::quads; ++q) {
        const float4 quad = *reinterpret_cast<const float4*>(row + 4 * q);
        const float values[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          if (4 * q + c >= S::samples) continue;
#pragma unroll
          for (int u = 0; u < S::units_each; ++u)
#pragma unroll
            for (int g = 0; g < S::gates; ++g) {
              constexpr int last = S::gates - 1;
              float& sum = sums[u][g == last ? g + shift : g][4 * q + c];
              sum = fmaf(weights[u][g][i], values[c], sum);
            }
        }
      }
    }
  }
};

// Adds up over the lanes of a unit. At each level two lanes share out their samples, so that the work halves
// too; an odd one stays with both.
template <int count, int mask, int slices, int samples>
__device__ __forceinline__ void add_slices(float (&values)[samples], int slice) {
  if constexpr (mask < slices) {
    const bool upper = (slice & mask) != 0;
#pragma unroll
    for (int j = 0; j < count / 2; ++j) {
      const float mine = upper ? values[2 * j + 1] : values[2 * j];
      const float theirs = upper ? values[2 * j] : values[2 * j + 1];
      values[j] = mine + __shfl_xor_sync(0xffffffffu, theirs, mask);
    }
    if constexpr (count % 2 == 1)
      values[count / 2] = values[count - 1] + __shfl_xor_sync(0xffffffffu, values[count - 1], mask);
    add_slices<(count + 1) / 2, mask * 2, slices>(values, slice);
  }
}
// The sample that the lane of `slice` then has at `kept`, or -1 where another lane has it too.
template <int samples, int slices>
__device__ __forceinline__ int sample_of(int slice, int kept) {
  int counts[6] = {samples}, levels = 0;
  for (int mask = 1; mask < slices; mask *= 2, ++levels) counts[levels + 1] = (counts[levels] + 1) / 2;
  int at = kept;
  while (levels-- > 0) {
    const int upper = slice >> levels & 1;
    if (2 * at + 1 < counts[levels])
      at = 2 * at + upper;
    else if (upper)
      return -1;
    else
      at = 2 * at;
  }
  return at;
}

// Where a block stands: its layer, direction, samples and units.
struct Role {
  int slot, layer, direction, chunk, first_unit;
};

template <class S, int features, class Arguments>
__device__ __forceinline__ void compute(const Arguments& a, const Role& role, const float* state,
                                        const float* input, int thread) {
  const int slice = thread % S::slices;
  // Lanes beyond the block's units multiply by zero.
  const int first_unit = thread / S::slices * S::units_each < S::units
                             ? role.first_unit + thread / S::slices * S::units_each
                             : S::hidden;
  const RecurrenceWeights& own = a.weights[role.slot];
  Slice<S, features> from_input;
  Slice<S, S::hidden> from_state;
  from_input.load(own.input, first_unit, slice);
  from_state.load(own.hidden, first_unit, slice);

  constexpr int kept = S::kept();
  float bias[S::units_each][S::sums] = {};
  RecurrenceCell<S::kind> cells[S::units_each][kept] = {};
  int samples[kept];
#pragma unroll
  for (int k = 0; k < kept; ++k) samples[k] = sample_of<S::samples, S::slices>(slice, k);
#pragma unroll
  for (int u = 0; u < S::units_each; ++u) {
    const int unit = first_unit + u;
    if (unit >= S::hidden) continue;
#pragma unroll
    for (int g = 0; g < S::gates; ++g) {
      constexpr int last = S::gates - 1;
      if (own.input_bias) bias[u][g] += own.input_bias[g * S::hidden + unit];
      if (own.hidden_bias) bias[u][g == last ? S::sums - 1 : g] += own.hidden_bias[g * S::hidden + unit];
    }
    const float* before = S::kind == RecurrenceKind::lstm ? a.c0 : a.h0;
#pragma unroll
    for (int k = 0; k < kept; ++k) {
      const int sample = role.chunk * S::samples + samples[k];
      if (samples[k] >= 0 && sample < S::batch)
        cells[u][k].before = before[(static_cast<int64_t>(role.slot) * S::batch + sample) * S::hidden + unit];
    }
  }

  float* exchange = a.exchange + S::exchange_at(role.layer, role.chunk, 0);
#pragma unroll 1
  for (int i = 0; i < S::steps; ++i) {
    const int step = role.direction ? S::steps - 1 - i : i, odd = i & 1;
    float sums[S::units_each][S::sums][S::samples] = {};
    wait_at(input_full + odd, S::compute_threads + S::input_threads);
    from_input.template multiply<0>(input + odd * S::input_rows * S::row, slice, sums);
    if (i + 2 < S::steps) arrive_at(input_empty + odd, S::compute_threads + S::input_threads);
    wait_at(state_full + odd, S::compute_threads + S::state_threads);
    from_state.template multiply<S::sums - S::gates>(state + odd * S::state_rows * S::row, slice, sums);
#pragma unroll
    for (int u = 0; u < S::units_each; ++u)
#pragma unroll
      for (int g = 0; g < S::sums; ++g) add_slices<S::samples, 1, S::slices>(sums[u][g], slice);
    float values[S::units_each][kept] = {};
#pragma unroll
    for (int u = 0; u < S::units_each; ++u)
#pragma unroll
      for (int k = 0; k < kept; ++k) {
        const int unit = first_unit + u;
        if (unit >= S::hidden || samples[k] < 0) continue;
        float total[S::sums];
#pragma unroll
        for (int g = 0; g < S::sums; ++g) total[g] = sums[u][g][k] + bias[u][g];
        values[u][k] = cells[u][k].next(total);
        const int column = role.direction * S::hidden + unit;
        publish(exchange + step * S::floats_a_step + column * (S::quads * 4) + samples[k], values[u][k]);
      }
    __syncwarp();
    if (i + 1 < S::steps) arrive_at(published, S::compute_threads + S::state_threads);

      // Nobody waits for the rest.
#pragma unroll
    for (int u = 0; u < S::units_each; ++u)
#pragma unroll
      for (int k = 0; k < kept; ++k) {
        const int unit = first_unit + u, sample = role.chunk * S::samples + samples[k];
        if (unit >= S::hidden || samples[k] < 0 || sample >= S::batch) continue;
        if (a.y && role.layer == S::layers - 1)
          a.y[step * a.y_step + sample * a.y_sample + role.direction * S::hidden + unit] = values[u][k];
        if (i + 1 < S::steps) continue;
        const int64_t at = (static_cast<int64_t>(role.slot) * S::batch + sample) * S::hidden + unit;
        if (a.hn) a.hn[at] = values[u][k];
        if (a.cn) a.cn[at] = cells[u][k].before;
      }
    __syncwarp();
  }
}

template <class S, class Arguments>
__device__ __forceinline__ void fetch_inputs(const Arguments& a, const Role& role, float* input, int thread) {
#pragma unroll 1
  for (int i = 0; i < S::steps; ++i) {
    const int step = role.direction ? S::steps - 1 - i : i, odd = i & 1;
    if (i >= 2) wait_at(input_empty + odd, S::compute_threads + S::input_threads);
    float* rows = input + odd * S::input_rows * S::row;
    if (role.layer == 0) {
      receive_x<S, S::input_threads>(a, step, role.chunk * S::samples, rows, thread);
    } else {
      const float* below = a.exchange + S::exchange_at(role.layer - 1, role.chunk, step);
      await<S, S::width, S::input_threads>(below, thread);
      receive<S, S::width, S::input_threads>(below, rows, thread);
    }
    __syncwarp();
    arrive_at(input_full + odd, S::compute_threads + S::input_threads);
  }
}

// Starts to ask for a step's state when this block has published its own part: the others' are due at about
// the same time. So two buffers need no sign that they are empty, either.
template <class S, class Arguments>
__device__ __forceinline__ void fetch_states(const Arguments& a, const Role& role, float* state, int thread) {
#pragma unroll 1
  for (int i = 0; i < S::steps; ++i) {
    float* rows = state + (i & 1) * S::state_rows * S::row;
    if (i == 0) {
      for (int at = thread; at < S::samples * S::hidden; at += S::state_threads) {
        const int sample = role.chunk * S::samples + at / S::hidden, unit = at % S::hidden;
        rows[unit * S::row + at / S::hidden] =
            sample < S::batch ? a.h0[(static_cast<int64_t>(role.slot) * S::batch + sample) * S::hidden + unit]
                              : 0.0f;
      }
    } else {
      const int before = role.direction ? S::steps - i : i - 1;
      wait_at(published, S::compute_threads + S::state_threads);
      receive<S, S::hidden, S::state_threads>(a.exchange + S::exchange_at(role.layer, role.chunk, before) +
                                                  role.direction * S::hidden * (S::quads * 4),
                                              rows, thread);
    }
    __syncwarp();
    arrive_at(state_full + (i & 1), S::compute_threads + S::state_threads);
  }
}

template <class Of, int slots>
__global__ void __launch_bounds__(PersistentSizes<Of>::threads, 1)
    kernel(const __grid_constant__ PersistentRecurrence<Of, slots> a) {
  wait_for_previous_kernel();
  using S = PersistentSizes<Of>;
  extern __shared__ float4 memory[];
  float* state = reinterpret_cast<float*>(memory);    // (2, state_rows, row)
  float* input = state + 2 * S::state_rows * S::row;  // (2, input_rows, row)
  int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < S::shared_bytes / 16; i += S::threads) memory[i] = float4{};
  __syncthreads();

  int rest = static_cast<int>(blockIdx.x);
  Role role{};
  role.first_unit = rest % S::parts * S::units;
  rest /= S::parts;
  role.direction = rest % S::directions;
  rest /= S::directions;
  role.chunk = rest % S::chunks;
  role.layer = a.first_layer + rest / S::chunks;
  role.slot = role.layer * S::directions + role.direction;

  // A row's last quad may have room for samples that are not there.
  constexpr int spare = S::quads * 4 - S::samples;
  if constexpr (spare > 0)
    for (int i = thread; i < S::steps * S::units * spare; i += S::threads) {
      const int unit = role.first_unit + i / spare % S::units, step = i / spare / S::units;
      if (unit < S::hidden)
        publish(a.exchange + S::exchange_at(role.layer, role.chunk, step) +
                    ((role.direction * S::hidden + unit + 1) * S::quads * 4 - 1 - i % spare),
                0.0f);
    }

  if (thread < S::compute_threads) {
    if (role.layer == 0)
      compute<S, S::input>(a, role, state, input, thread);
    else if constexpr (S::layers > 1)
      compute<S, S::width>(a, role, state, input, thread);
  } else if (thread < S::compute_threads + S::state_threads) {
    fetch_states<S>(a, role, state, thread - S::compute_threads);
  } else {
    fetch_inputs<S>(a, role, input, thread - S::compute_threads - S::state_threads);
  }
}

}  // namespace persistent

// All layers, `layers_at_once` a launch.
template <class Of, int slots>
StitchStatus enqueue_persistent_recurrence(PersistentRecurrence<Of, slots> recurrence, cudaStream_t stream) {
  using S = PersistentSizes<Of>;
  static_assert(S::layers % S::layers_at_once == 0 && slots == S::layers * S::directions);
  for (int first = 0; first < S::layers; first += S::layers_at_once) {
    for (int layer = first; layer < first + S::layers_at_once; ++layer)
      STITCH_CUDA(cudaMemsetAsync(recurrence.exchange + S::exchange_at(layer, 0, 0), 0xff,
                                  S::floats_a_layer * sizeof(float), stream));
    recurrence.first_layer = first;
    STITCH_OK_OR_RETURN(launch("persistent_recurrence", persistent::kernel<Of, slots>,
                               {S::blocks, S::threads, S::shared_bytes, true}, stream, recurrence));
  }
  return STITCH_OK;
}

}  // namespace stitch
