// A persistent recurrence: weights stay in registers. Every block owns a few hidden units of one layer and
// direction for all steps; layers run as a wavefront, each one step behind the one below. Blocks exchange the
// state through L2: memory is filled with a NaN that no computation produces, so a value is its own ready
// flag, and a step costs one trip to L2 and no grid barrier. All arithmetic in FP32.
//
// Some of a block's warps prefetch the next input, some wait for the state, the others multiply. The input's
// part of the gates is computed while the state is in flight. A unit's sum over its features is split over
// `slices` lanes, each with its weights in registers; all blocks must be resident.
#pragma once

#include "stitch/kernels/recurrence.h"
#include "stitch/kernels/recurrence_exchange.h"
#include "stitch/kernels/shared_memory.h"

namespace stitch {
// A recurrence as described by generated code: `Of` has its sizes and its distribution over the GPU. Steps
// and batch are read from an object, `sizes`: a program for a range of them has them as ordinary members.
template <class Of>
struct PersistentSizes : Of {
  using Of::directions, Of::hidden, Of::input, Of::input_warps, Of::kind, Of::layers, Of::layers_at_once,
      Of::samples, Of::slices, Of::state_warps, Of::units, Of::units_each;
  __host__ __device__ static constexpr int up(int count, int by) { return (count + by - 1) / by; }

  static constexpr int gates = gates_of(kind);
  // A gru's last gate needs the parts of input and state separately.
  static constexpr int sums = kind == RecurrenceKind::gru ? 4 : gates;
  static constexpr int width = directions * hidden;
  __host__ __device__ static constexpr int chunks(Of of) { return up(of.batch, samples); }  // of the batch
  static constexpr int parts = up(hidden, units);  // of a layer's units
  __host__ __device__ static constexpr int blocks(Of of) {
    return layers_at_once * directions * chunks(of) * parts;
  }
  static constexpr int quads = up(samples, 4);  // of samples, 16 bytes each
  // Rows of shared memory, one per feature: an odd number of quads, so that 8 lanes use 8 groups of banks.
  static constexpr int row = (quads % 2 ? quads : quads + 1) * 4;
  static constexpr int state_rows = up(hidden, slices) * slices;
  static constexpr int input_rows = up(input > width ? input : width, slices) * slices;
  static constexpr int shared_bytes =
      shared_memory::persistent_recurrence(hidden, input > width ? input : width, samples, slices);
  static_assert(shared_bytes == 2 * (state_rows + input_rows) * row * 4);

  static constexpr int compute_threads = up(up(units, units_each) * slices, 32) * 32;
  static constexpr int state_threads = state_warps * 32, input_threads = input_warps * 32;
  static constexpr int threads = compute_threads + state_threads + input_threads;

  // Samples per lane after the slices are summed.
  __host__ __device__ static constexpr int kept() {
    int count = samples;
    for (int mask = 1; mask < slices; mask *= 2) count = up(count, 2);
    return count;
  }

  // A layer's states of all steps, kept until the layer above has read them.
  static constexpr int layers_kept = layers_at_once < layers ? layers_at_once + 1 : layers;
  static constexpr int64_t floats_a_step = int64_t{width} * quads * 4;
  __host__ __device__ static constexpr int64_t floats_a_layer(Of of) {
    return chunks(of) * of.steps * floats_a_step;
  }
  __host__ __device__ static constexpr int64_t exchange_at(Of of, int layer, int chunk, int step) {
    return layer % layers_kept * floats_a_layer(of) + (int64_t{chunk} * of.steps + step) * floats_a_step;
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
  Of sizes;
};

// Checks at create that all blocks are resident on this GPU.
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

// Named barriers, two each for even and odd steps, except the last.
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

// Copies published rows into shared memory as soon as all have arrived.
template <class Sizes, int rows, int threads>
__device__ __forceinline__ void receive(const float* exchange, float* shared, int thread) {
  constexpr int count = rows * Sizes::quads, each = Sizes::up(count, threads),
                at_once = each < 24 ? each : 24;
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
      if (waiting) __nanosleep(0);  // emulated: runs other blocks
#endif
    }
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      const int at = first + j * threads;
      const int to =
          Sizes::row == Sizes::quads * 4 ? at * 4 : at / Sizes::quads * Sizes::row + at % Sizes::quads * 4;
      if (even || at < count) *reinterpret_cast<uint4*>(shared + to) = values[j];
    }
  }
}

// Polls one of a lane's quads first: a step of the layer below may be far off, and polling all words would
// take bandwidth from blocks that are still computing.
template <class Sizes, int rows, int threads>
__device__ __forceinline__ void await(const float* exchange, int thread) {
  if (thread >= rows * Sizes::quads) return;
  uint4 value{};
  do {
    read_exchange(reinterpret_cast<const uint4*>(exchange) + thread, true, value);
#if STITCH_EMULATED
    if (is_missing(value)) __nanosleep(0);
#endif
  } while (is_missing(value));
}

// The model's input of one step, features to rows.
template <class Sizes, int threads, class Arguments>
__device__ __forceinline__ void receive_x(const Arguments& a, int step, int first_sample, float* shared,
                                          int thread) {
  const float* x = a.x + step * a.x_step + first_sample * a.x_sample;
  const int samples =
      a.sizes.batch - first_sample < Sizes::samples ? a.sizes.batch - first_sample : Sizes::samples;
  const bool by_quads = Sizes::input % 4 == 0 && a.x_feature == 1 && a.x_step % 4 == 0 &&
                        a.x_sample % 4 == 0 && reinterpret_cast<uintptr_t>(a.x) % 16 == 0;
  if (by_quads) {
    constexpr int count = Sizes::samples * (Sizes::input / 4), all = Sizes::up(count, threads),
                  each = all < 16 ? all : 16;
#pragma unroll 1
    for (int first = thread; first < count; first += each * threads) {
      float4 values[each];
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const int at = first + j * threads, sample = at % Sizes::samples;
        values[j] =
            at < count && sample < samples
                ? __ldg(reinterpret_cast<const float4*>(x + sample * a.x_sample) + at / Sizes::samples)
                : float4{};
      }
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const int at = first + j * threads;
        if (at >= count) continue;
        float* to = shared + at / Sizes::samples * 4 * Sizes::row + at % Sizes::samples;
        to[0] = values[j].x;
        to[Sizes::row] = values[j].y;
        to[2 * Sizes::row] = values[j].z;
        to[3 * Sizes::row] = values[j].w;
      }
    }
    return;
  }
#pragma unroll 4
  for (int at = thread; at < Sizes::samples * Sizes::input; at += threads) {
    const int sample = at / Sizes::input, feature = at % Sizes::input;
    shared[feature * Sizes::row + sample] =
        sample < samples ? x[sample * a.x_sample + feature * a.x_feature] : 0.0f;
  }
}

// A lane's features: slice, slice + slices, …; weights past the last are zero.
template <class Sizes, int features>
struct Slice {
  static constexpr int count = Sizes::up(features, Sizes::slices);
  float weights[Sizes::units_each][Sizes::gates][count];

  __device__ __forceinline__ void load(const float* matrix, int first_unit, int slice) {
#pragma unroll
    for (int u = 0; u < Sizes::units_each; ++u)
#pragma unroll
      for (int g = 0; g < Sizes::gates; ++g)
#pragma unroll
        for (int i = 0; i < count; ++i) {
          const int unit = first_unit + u, feature = slice + i * Sizes::slices;
          weights[u][g][i] =
              unit < Sizes::hidden && feature < features
                  ? matrix[(static_cast<int64_t>(g) * Sizes::hidden + unit) * features + feature]
                  : 0.0f;
        }
  }

  // `shift`: which sum a gru's last gate is added to.
  template <int shift>
  __device__ __forceinline__ void multiply(
      const float* rows, int slice, float (&sums)[Sizes::units_each][Sizes::sums][Sizes::samples]) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const float* row = rows + (slice + i * Sizes::slices) * Sizes::row;
#pragma unroll
      for (int q = 0; q < Sizes::quads; ++q) {
        const float4 quad = *reinterpret_cast<const float4*>(row + 4 * q);
        const float values[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          if (4 * q + c >= Sizes::samples) continue;
#pragma unroll
          for (int u = 0; u < Sizes::units_each; ++u)
#pragma unroll
            for (int g = 0; g < Sizes::gates; ++g) {
              constexpr int last = Sizes::gates - 1;
              float& sum = sums[u][g == last ? g + shift : g][4 * q + c];
              sum = fmaf(weights[u][g][i], values[c], sum);
            }
        }
      }
    }
  }
};

// Sums over the lanes of a unit. At each level two lanes divide their samples, which halves the work; both
// keep an odd one.
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
// The sample that lane `slice` holds at `kept`, or -1 if another lane has it too.
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

// A block's layer, direction, samples and units.
struct Role {
  int slot, layer, direction, chunk, first_unit;
};

template <class Sizes, int features, class Arguments>
__device__ __forceinline__ void compute(const Arguments& a, const Role& role, const float* state,
                                        const float* input, int thread) {
  const int slice = thread % Sizes::slices;
  // Lanes beyond the block's units multiply by zero.
  const int first_unit = thread / Sizes::slices * Sizes::units_each < Sizes::units
                             ? role.first_unit + thread / Sizes::slices * Sizes::units_each
                             : Sizes::hidden;
  const RecurrenceWeights& own = a.weights[role.slot];
  Slice<Sizes, features> from_input;
  Slice<Sizes, Sizes::hidden> from_state;
  from_input.load(own.input, first_unit, slice);
  from_state.load(own.hidden, first_unit, slice);

  constexpr int kept = Sizes::kept();
  float bias[Sizes::units_each][Sizes::sums] = {};
  RecurrenceCell<Sizes::kind> cells[Sizes::units_each][kept] = {};
  int samples[kept];
#pragma unroll
  for (int k = 0; k < kept; ++k) samples[k] = sample_of<Sizes::samples, Sizes::slices>(slice, k);
#pragma unroll
  for (int u = 0; u < Sizes::units_each; ++u) {
    const int unit = first_unit + u;
    if (unit >= Sizes::hidden) continue;
#pragma unroll
    for (int g = 0; g < Sizes::gates; ++g) {
      constexpr int last = Sizes::gates - 1;
      if (own.input_bias) bias[u][g] += own.input_bias[g * Sizes::hidden + unit];
      if (own.hidden_bias)
        bias[u][g == last ? Sizes::sums - 1 : g] += own.hidden_bias[g * Sizes::hidden + unit];
    }
    const float* before = Sizes::kind == RecurrenceKind::lstm ? a.c0 : a.h0;
#pragma unroll
    for (int k = 0; k < kept; ++k) {
      const int sample = role.chunk * Sizes::samples + samples[k];
      if (samples[k] >= 0 && sample < a.sizes.batch)
        cells[u][k].before =
            before[(static_cast<int64_t>(role.slot) * a.sizes.batch + sample) * Sizes::hidden + unit];
    }
  }

  float* exchange = a.exchange + Sizes::exchange_at(a.sizes, role.layer, role.chunk, 0);
#pragma unroll 1
  for (int i = 0; i < a.sizes.steps; ++i) {
    const int step = role.direction ? a.sizes.steps - 1 - i : i, odd = i & 1;
    float sums[Sizes::units_each][Sizes::sums][Sizes::samples] = {};
    wait_at(input_full + odd, Sizes::compute_threads + Sizes::input_threads);
    from_input.template multiply<0>(input + odd * Sizes::input_rows * Sizes::row, slice, sums);
    if (i + 2 < a.sizes.steps) arrive_at(input_empty + odd, Sizes::compute_threads + Sizes::input_threads);
    wait_at(state_full + odd, Sizes::compute_threads + Sizes::state_threads);
    from_state.template multiply<Sizes::sums - Sizes::gates>(state + odd * Sizes::state_rows * Sizes::row,
                                                             slice, sums);
#pragma unroll
    for (int u = 0; u < Sizes::units_each; ++u)
#pragma unroll
      for (int g = 0; g < Sizes::sums; ++g) add_slices<Sizes::samples, 1, Sizes::slices>(sums[u][g], slice);
    float values[Sizes::units_each][kept] = {};
#pragma unroll
    for (int u = 0; u < Sizes::units_each; ++u)
#pragma unroll
      for (int k = 0; k < kept; ++k) {
        const int unit = first_unit + u;
        if (unit >= Sizes::hidden || samples[k] < 0) continue;
        float total[Sizes::sums];
#pragma unroll
        for (int g = 0; g < Sizes::sums; ++g) total[g] = sums[u][g][k] + bias[u][g];
        values[u][k] = cells[u][k].next(total);
        const int column = role.direction * Sizes::hidden + unit;
        publish(exchange + step * Sizes::floats_a_step + column * (Sizes::quads * 4) + samples[k],
                values[u][k]);
      }
    __syncwarp();
    if (i + 1 < a.sizes.steps) arrive_at(published, Sizes::compute_threads + Sizes::state_threads);

      // Nothing waits for the rest.
#pragma unroll
    for (int u = 0; u < Sizes::units_each; ++u)
#pragma unroll
      for (int k = 0; k < kept; ++k) {
        const int unit = first_unit + u, sample = role.chunk * Sizes::samples + samples[k];
        if (unit >= Sizes::hidden || samples[k] < 0 || sample >= a.sizes.batch) continue;
        if (a.y && role.layer == Sizes::layers - 1)
          a.y[step * a.y_step + sample * a.y_sample + role.direction * Sizes::hidden + unit] = values[u][k];
        if (i + 1 < a.sizes.steps) continue;
        const int64_t at = (static_cast<int64_t>(role.slot) * a.sizes.batch + sample) * Sizes::hidden + unit;
        if (a.hn) a.hn[at] = values[u][k];
        if (a.cn) a.cn[at] = cells[u][k].before;
      }
    __syncwarp();
  }
}

template <class Sizes, class Arguments>
__device__ __forceinline__ void fetch_inputs(const Arguments& a, const Role& role, float* input, int thread) {
#pragma unroll 1
  for (int i = 0; i < a.sizes.steps; ++i) {
    const int step = role.direction ? a.sizes.steps - 1 - i : i, odd = i & 1;
    if (i >= 2) wait_at(input_empty + odd, Sizes::compute_threads + Sizes::input_threads);
    float* rows = input + odd * Sizes::input_rows * Sizes::row;
    if (role.layer == 0) {
      receive_x<Sizes, Sizes::input_threads>(a, step, role.chunk * Sizes::samples, rows, thread);
    } else {
      const float* below = a.exchange + Sizes::exchange_at(a.sizes, role.layer - 1, role.chunk, step);
      await<Sizes, Sizes::width, Sizes::input_threads>(below, thread);
      receive<Sizes, Sizes::width, Sizes::input_threads>(below, rows, thread);
    }
    __syncwarp();
    arrive_at(input_full + odd, Sizes::compute_threads + Sizes::input_threads);
  }
}

// Starts polling for a step's state once this block has published its own part: the others' arrive at about
// the same time. Therefore two buffers need no empty signal.
template <class Sizes, class Arguments>
__device__ __forceinline__ void fetch_states(const Arguments& a, const Role& role, float* state, int thread) {
#pragma unroll 1
  for (int i = 0; i < a.sizes.steps; ++i) {
    float* rows = state + (i & 1) * Sizes::state_rows * Sizes::row;
    if (i == 0) {
      for (int at = thread; at < Sizes::samples * Sizes::hidden; at += Sizes::state_threads) {
        const int sample = role.chunk * Sizes::samples + at / Sizes::hidden, unit = at % Sizes::hidden;
        rows[unit * Sizes::row + at / Sizes::hidden] =
            sample < a.sizes.batch
                ? a.h0[(static_cast<int64_t>(role.slot) * a.sizes.batch + sample) * Sizes::hidden + unit]
                : 0.0f;
      }
    } else {
      const int before = role.direction ? a.sizes.steps - i : i - 1;
      wait_at(published, Sizes::compute_threads + Sizes::state_threads);
      receive<Sizes, Sizes::hidden, Sizes::state_threads>(
          a.exchange + Sizes::exchange_at(a.sizes, role.layer, role.chunk, before) +
              role.direction * Sizes::hidden * (Sizes::quads * 4),
          rows, thread);
    }
    __syncwarp();
    arrive_at(state_full + (i & 1), Sizes::compute_threads + Sizes::state_threads);
  }
}

template <class Of, int slots>
__global__ void __launch_bounds__(PersistentSizes<Of>::threads, 1)
    kernel(const __grid_constant__ PersistentRecurrence<Of, slots> a) {
  wait_for_previous_kernel();
  using Sizes = PersistentSizes<Of>;
  extern __shared__ float4 memory[];
  float* state = reinterpret_cast<float*>(memory);            // (2, state_rows, row)
  float* input = state + 2 * Sizes::state_rows * Sizes::row;  // (2, input_rows, row)
  int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < Sizes::shared_bytes / 16; i += Sizes::threads) memory[i] = float4{};
  __syncthreads();

  int rest = static_cast<int>(blockIdx.x);
  Role role{};
  role.first_unit = rest % Sizes::parts * Sizes::units;
  rest /= Sizes::parts;
  role.direction = rest % Sizes::directions;
  rest /= Sizes::directions;
  const int chunks = Sizes::chunks(a.sizes);
  role.chunk = rest % chunks;
  role.layer = a.first_layer + rest / chunks;
  role.slot = role.layer * Sizes::directions + role.direction;

  // A row's last quad may have unused samples.
  constexpr int spare = Sizes::quads * 4 - Sizes::samples;
  if constexpr (spare > 0)
    for (int i = thread; i < a.sizes.steps * Sizes::units * spare; i += Sizes::threads) {
      const int unit = role.first_unit + i / spare % Sizes::units, step = i / spare / Sizes::units;
      if (unit < Sizes::hidden)
        publish(a.exchange + Sizes::exchange_at(a.sizes, role.layer, role.chunk, step) +
                    ((role.direction * Sizes::hidden + unit + 1) * Sizes::quads * 4 - 1 - i % spare),
                0.0f);
    }

  if (thread < Sizes::compute_threads) {
    if (role.layer == 0)
      compute<Sizes, Sizes::input>(a, role, state, input, thread);
    else if constexpr (Sizes::layers > 1)
      compute<Sizes, Sizes::width>(a, role, state, input, thread);
  } else if (thread < Sizes::compute_threads + Sizes::state_threads) {
    fetch_states<Sizes>(a, role, state, thread - Sizes::compute_threads);
  } else {
    fetch_inputs<Sizes>(a, role, input, thread - Sizes::compute_threads - Sizes::state_threads);
  }
}

}  // namespace persistent

// All layers, `layers_at_once` a launch.
template <class Of, int slots>
StitchStatus enqueue_persistent_recurrence(PersistentRecurrence<Of, slots> recurrence, cudaStream_t stream) {
  using Sizes = PersistentSizes<Of>;
  static_assert(Sizes::layers % Sizes::layers_at_once == 0 && slots == Sizes::layers * Sizes::directions);
  for (int first = 0; first < Sizes::layers; first += Sizes::layers_at_once) {
    for (int layer = first; layer < first + Sizes::layers_at_once; ++layer)
      STITCH_CUDA(cudaMemsetAsync(recurrence.exchange + Sizes::exchange_at(recurrence.sizes, layer, 0, 0),
                                  0xff, Sizes::floats_a_layer(recurrence.sizes) * sizeof(float), stream));
    recurrence.first_layer = first;
    STITCH_OK_OR_RETURN(
        launch("persistent_recurrence", persistent::kernel<Of, slots>,
               {blocks_of(Sizes::blocks(recurrence.sizes)), Sizes::threads, Sizes::shared_bytes, true},
               stream, recurrence));
  }
  return STITCH_OK;
}

}  // namespace stitch
