// rnn.persistent: KernelBench's recurrences under several spreads over the machine, each checked against one
// kernel a step (measure.h has the command).
#include <utility>

#include "measure.h"
#include "stitch/kernels/recurrence_persistent.h"

// gates (rows, columns) = x (rows, features) · weightᵀ + bias
__global__ void affine(const float* x, const float* weight, const float* bias, float* gates, int rows,
                       int columns, int features) {
  int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= rows * columns) return;
  double sum = bias[at % columns];
  for (int i = 0; i < features; ++i)
    sum += static_cast<double>(x[at / columns * features + i]) * weight[at % columns * features + i];
  gates[at] = static_cast<float>(sum);
}

__global__ void shift(float* x, int64_t count, float by) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x)
    x[i] -= by;
}
// Numbers in [-scale, scale].
struct Memory {
  size_t count;
  Buffer<float> buffer;
  float* at;
  Memory(size_t elements, float scale, uint64_t seed)
      : count(elements), buffer(static_cast<int64_t>(elements)), at(buffer.data) {
    draw<<<256, 256>>>(at, static_cast<int64_t>(elements), seed, false, 2 * scale);
    if (scale > 0) shift<<<256, 256>>>(at, static_cast<int64_t>(elements), scale);
  }
  std::vector<float> host() const { return on_host(at, static_cast<int64_t>(count)); }
};

// y (steps, batch, width), hn, cn by a kernel a step.
template <class S, int slots>
void run_reference(const PersistentRecurrence<S, slots>& r, float* y, float* hn, float* cn) {
  using P = PersistentSizes<S>;
  const int cells = S::steps * S::batch, columns = P::gates * S::hidden;
  Memory gates(size_t{cells} * columns, 0, 0), below(size_t{cells} * P::width, 0, 0);
  for (int slot = 0; slot < slots; ++slot) {
    const int direction = slot % S::directions, features = slot < S::directions ? S::input : P::width;
    if (slot >= S::directions && direction == 0)
      CUDA(cudaMemcpy(below.at, y, below.count * sizeof(float), cudaMemcpyDeviceToDevice));
    const RecurrenceWeights& w = r.weights[slot];
    affine<<<(cells * columns + 255) / 256, 256>>>(slot < S::directions ? r.x : below.at, w.input,
                                                   w.input_bias, gates.at, cells, columns, features);
    const size_t state = size_t{S::batch} * S::hidden;
    for (int i = 0; i < S::steps; ++i) {
      const int step = direction ? S::steps - 1 - i : i, before = direction ? step + 1 : step - 1;
      RecurrenceStep<float> s{S::batch, S::hidden, S::hidden};
      s.from_input = gates.at + int64_t{step} * S::batch * columns;
      s.weight = w.hidden, s.bias = w.hidden_bias;
      float* own = y + direction * S::hidden;
      s.state = i == 0 ? r.h0 + slot * state : own + int64_t{before} * S::batch * P::width;
      s.state_stride = i == 0 ? S::hidden : P::width;
      s.cell_before = i == 0 ? r.c0 + slot * state : cn + slot * state;
      s.cell = cn + slot * state;
      s.result = own + int64_t{step} * S::batch * P::width, s.result_stride = P::width;
      s.last = i == S::steps - 1 ? hn + slot * state : nullptr;
      OK(enqueue_recurrence_step<S::kind>(s, nullptr));
    }
  }
  CUDA(cudaDeviceSynchronize());
}

template <class S>
void measure(const char* name, const char* spread) {
  using P = PersistentSizes<S>;
  constexpr int slots = S::layers * S::directions;
  if (!wanted(name)) return;
  const size_t state = size_t{S::batch} * S::hidden;
  const float scale = 1.0f / std::sqrt(static_cast<float>(S::hidden));  // as PyTorch draws weights
  Memory x(size_t{S::steps} * S::batch * S::input, 1, 1), h0(slots * state, 1, 2), c0(slots * state, 1, 3);
  Memory weights(slots * size_t{P::gates} * S::hidden * (std::max(S::input, P::width) + S::hidden + 2), scale,
                 4);
  Memory exchange(P::exchanged_bytes / 4, 0, 0);
  Memory y(size_t{S::steps} * S::batch * P::width, 0, 0), hn(slots * state, 0, 0), cn(slots * state, 0, 0);
  Memory y2(y.count, 0, 0), hn2(hn.count, 0, 0), cn2(cn.count, 0, 0);
  PersistentRecurrence<S, slots> r{};
  float* next = weights.at;
  auto take = [&](size_t count) { return std::exchange(next, next + count); };
  for (int slot = 0; slot < slots; ++slot) {
    const size_t gates = size_t{P::gates} * S::hidden, features = slot < S::directions ? S::input : P::width;
    r.weights[slot].input = take(gates * features), r.weights[slot].hidden = take(gates * S::hidden);
    r.weights[slot].input_bias = take(gates), r.weights[slot].hidden_bias = take(gates);
  }
  r.x = x.at, r.x_step = S::batch * S::input, r.x_sample = S::input, r.x_feature = 1;
  r.h0 = h0.at, r.c0 = c0.at, r.exchange = exchange.at;
  r.y = y.at, r.y_step = S::batch * P::width, r.y_sample = P::width;
  r.hn = hn.at, r.cn = S::kind == RecurrenceKind::lstm ? cn.at : nullptr;
  run_reference<S, slots>(r, y2.at, hn2.at, cn2.at);

  const double median = time_of([&] { OK(enqueue_persistent_recurrence(r, nullptr)); });
  double error = std::max(relative_error(y2.host(), y.host()), relative_error(hn2.host(), hn.host()));
  if (S::kind == RecurrenceKind::lstm) error = std::max(error, relative_error(cn2.host(), cn.host()));
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, persistent::kernel<S, slots>));
  const int dependent = S::steps * (S::layers / S::layers_at_once) + S::layers_at_once - 1;
  say("%-22s %-34s %6d %7d %5d %6zu %9.3f %9.3f %10.1e %s\n", name, spread, P::blocks, P::threads,
      attributes.numRegs, attributes.localSizeBytes, median, median * 1e3 / dependent, error,
      error < 1e-5 ? "" : "WRONG");
}

template <RecurrenceKind the_kind, int the_steps, int the_batch, int the_input, int the_hidden,
          int the_layers, int the_directions>
struct Task {
  static constexpr RecurrenceKind kind = the_kind;
  static constexpr int steps = the_steps, batch = the_batch, input = the_input, hidden = the_hidden,
                       layers = the_layers, directions = the_directions;
};
// Layers at once, samples, units, units a lane, slices, warps that fetch states and inputs.
template <class The, int at_once, int the_samples, int the_units, int each, int the_slices, int state,
          int inputs>
struct Spread : The {
  static constexpr int layers_at_once = at_once, samples = the_samples, units = the_units, units_each = each,
                       slices = the_slices, state_warps = state, input_warps = inputs;
};
using Lstm = Task<RecurrenceKind::lstm, 512, 10, 128, 256, 6, 1>;
using LstmBothWays = Task<RecurrenceKind::lstm, 512, 10, 128, 256, 6, 2>;
using Gru = Task<RecurrenceKind::gru, 512, 10, 128, 256, 6, 1>;
using GruBothWays = Task<RecurrenceKind::gru, 512, 10, 128, 256, 6, 2>;
using Vanilla = Task<RecurrenceKind::tanh, 256, 8, 1024, 256, 1, 1>;
// Nearly nothing to compute: what the exchange alone costs.
using Exchange2 = Task<RecurrenceKind::tanh, 512, 1, 4, 32, 1, 1>;
using Exchange64 = Task<RecurrenceKind::tanh, 512, 1, 4, 256, 1, 1>;

int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  say("task                   layers samples units each slices w  blocks threads  regs  local        ms   "
      "us/step"
      "      error\n");
#define MEASURE(task, ...) measure<Spread<task, __VA_ARGS__>>(#task, #__VA_ARGS__)
  MEASURE(Exchange2, 1, 1, 16, 4, 32, 1, 1);
  MEASURE(Exchange64, 1, 1, 4, 1, 32, 1, 1);
  MEASURE(Exchange64, 1, 1, 16, 4, 32, 1, 1);
  MEASURE(Lstm, 6, 10, 12, 1, 16, 1, 1);
  MEASURE(Lstm, 6, 10, 12, 1, 16, 2, 2);
  MEASURE(Lstm, 6, 10, 12, 1, 32, 2, 2);
  MEASURE(Lstm, 6, 10, 16, 1, 16, 2, 2);
  MEASURE(Lstm, 3, 10, 6, 1, 16, 2, 2);
  MEASURE(Lstm, 3, 10, 6, 1, 32, 1, 1);
  MEASURE(LstmBothWays, 1, 10, 4, 1, 32, 2, 2);
  MEASURE(LstmBothWays, 1, 10, 4, 1, 32, 1, 3);
  MEASURE(LstmBothWays, 1, 10, 4, 1, 32, 4, 4);
  MEASURE(LstmBothWays, 1, 5, 8, 1, 32, 2, 2);
  MEASURE(Gru, 6, 10, 12, 1, 16, 2, 1);
  MEASURE(Gru, 6, 10, 12, 1, 16, 1, 1);
  MEASURE(Gru, 6, 10, 12, 1, 32, 2, 2);
  MEASURE(Gru, 6, 10, 16, 1, 16, 2, 2);
  MEASURE(GruBothWays, 1, 5, 8, 2, 32, 2, 2);
  MEASURE(GruBothWays, 1, 5, 8, 1, 32, 2, 2);
  MEASURE(GruBothWays, 1, 10, 4, 1, 32, 2, 2);
  MEASURE(Vanilla, 1, 4, 8, 2, 16, 2, 2);
  MEASURE(Vanilla, 1, 8, 16, 4, 32, 1, 3);
  MEASURE(Vanilla, 1, 8, 8, 2, 32, 1, 3);
  MEASURE(Vanilla, 1, 4, 4, 1, 16, 2, 4);
}
