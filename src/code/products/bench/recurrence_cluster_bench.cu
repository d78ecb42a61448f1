// rnn.cluster: a layer for several numbers of blocks and samples per cluster, checked against one kernel per
// step; products of inputs; six layers; and rnn.persistent (measure.h has the command). The exchange alone:
// cluster_exchange_bench.cu.
#include <utility>

#include "measure.h"
#include "stitch/kernels/matmul_tensor_core.h"
#include "stitch/kernels/recurrence_cluster.h"
#include "stitch/kernels/recurrence_persistent.h"

template <RecurrenceKind the_kind, int the_directions, int the_cluster, int the_samples, int the_batch = 10,
          int at_once = 1>
struct Sizes {
  static constexpr RecurrenceKind kind = the_kind;
  static constexpr int steps = 512, batch = the_batch, hidden = 256, directions = the_directions,
                       cluster = the_cluster, samples = the_samples, layers_at_once = at_once;
};

double relative_error(const Buffer<float>& expected, const Buffer<float>& got, int64_t count) {
  return relative_error(on_host(expected.data, count), on_host(got.data, count));
}
// (rows, hidden, gates) as (rows, gates, hidden)
__global__ void reorder(const float* from, float* to, int64_t count, int hidden, int gates) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t line = int64_t{hidden} * gates, at = i % line;
    to[i / line * line + at % gates * hidden + at / gates] = from[i];
  }
}
__global__ void centre(float* x, int64_t count) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x)
    x[i] = (x[i] - 0.5f) * 0.125f;
}

__global__ void add_bias(float* x, const float* bias, int64_t count, int64_t columns) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x)
    x[i] += bias[i % columns];
}

template <class Of>
void time_layer(const char* name) {
  using S = ClusterSizes<Of>;
  const int64_t state = int64_t{S::directions} * S::batch * S::hidden, width = S::directions * S::hidden,
                gates = int64_t{S::gates} * S::hidden, cells = int64_t{S::steps} * S::batch;
  Buffer<float> given(S::directions * cells * gates), plain(cells * gates),
      weights(S::directions * gates * S::hidden), biases(2 * S::directions * gates), h0(state), c0(state),
      y(cells * width), hn(state), cn(state), y2(cells * width), hn2(state), cn2(state);
  draw<<<256, 256>>>(given.data, S::directions * cells * gates, 1, true, 0.7f);
  draw<<<256, 256>>>(weights.data, S::directions * gates * S::hidden, 99999999, false, 1.0f);
  centre<<<256, 256>>>(weights.data, S::directions * gates * S::hidden);
  draw<<<256, 256>>>(biases.data, 2 * S::directions * gates, 777, true, 0.1f);
  draw<<<256, 256>>>(h0.data, state, 5, true, 1.0f);
  draw<<<256, 256>>>(c0.data, state, 6, true, 1.0f);
  ClusterLayers<Of> layer{};
  for (int d = 0; d < S::directions; ++d)
    layer.of[d] = {given.data + d * cells * gates, nullptr, weights.data + d * gates * S::hidden,
                   biases.data + 2 * d * gates, biases.data + (2 * d + 1) * gates};
  layer.h0 = h0.data, layer.c0 = c0.data, layer.y = y.data, layer.y_step = S::batch * width,
  layer.y_sample = width;
  layer.hn = hn.data, layer.cn = S::kind == RecurrenceKind::lstm ? cn.data : nullptr;
  CUDA(cudaFuncSetAttribute(cluster_steps::kernel<Of>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = S::cluster, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = S::blocks, config.blockDim = S::threads, config.dynamicSmemBytes = S::shared_bytes;
  config.attrs = &attribute, config.numAttrs = 1;
  int active = 0;
  CUDA(cudaOccupancyMaxActiveClusters(&active, cluster_steps::kernel<Of>, &config));
  const double time = time_of([&] { OK(enqueue_cluster_layers(layer, nullptr)); });
  for (int d = 0; d < S::directions; ++d) {
    // RecurrenceStep adds the state's bias alone.
    reorder<<<256, 256>>>(layer.of[d].given, plain.data, cells * gates, S::hidden, S::gates);
    add_bias<<<256, 256>>>(plain.data, layer.of[d].input_bias, cells * gates, gates);
    for (int i = 0; i < S::steps; ++i) {
      const int step = d ? S::steps - 1 - i : i, before = d ? step + 1 : step - 1;
      const int64_t slot = int64_t{d} * S::batch * S::hidden;
      RecurrenceStep<float> s{S::batch, S::hidden, S::hidden};
      s.from_input = plain.data + step * S::batch * gates;
      s.weight = layer.of[d].hidden, s.bias = layer.of[d].hidden_bias;
      s.state = i == 0 ? h0.data + slot : y2.data + d * S::hidden + before * S::batch * width;
      s.state_stride = i == 0 ? S::hidden : width;
      s.cell_before = i == 0 ? c0.data + slot : cn2.data + slot;
      s.cell = cn2.data + slot;
      s.result = y2.data + d * S::hidden + step * S::batch * width, s.result_stride = width;
      s.last = i == S::steps - 1 ? hn2.data + slot : nullptr;
      OK(enqueue_recurrence_step<S::kind>(s, nullptr));
    }
  }
  double error = std::max(relative_error(y2, y, cells * width), relative_error(hn2, hn, state));
  if (layer.cn) error = std::max(error, relative_error(cn2, cn, state));
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, cluster_steps::kernel<Of>));
  say("%-18s cluster %2d, %2d samples: %3d blocks of %3d threads, %3d registers, %zu local, %2d clusters "
      "fit: "
      "%7.3f ms, %6.3f us a step, error %.1e %s\n",
      name, S::cluster, S::samples, S::blocks, S::threads, attributes.numRegs, attributes.localSizeBytes,
      active, time, time * 1e3 / S::steps, error, error < 1e-5 ? "" : "WRONG");
}

// The input's share of one direction: (5120, features) · (1024, features)ᵀ
template <int features>
struct InputProduct {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 5120, columns = 1024, depth = features;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = false;
  __device__ static Index left(Index, Index row, Index k) { return row * features + k; }
  __device__ static Index right(Index, Index k, Index column) {
    return (column % 4 * 256 + column / 4) * features + k;
  }
  __device__ static Index out(Index, Index row, Index column) { return row * 1024 + column; }
  __device__ static Index position(Index, Index row, Index column) { return row * 1024 + column; }
};
template <int of_rows, int of_columns, int tiles_of_rows, int tiles_of_columns, int depth, int stage_count>
struct Tiles {
  static constexpr int warp_rows = of_rows, warp_columns = of_columns, row_tiles = tiles_of_rows,
                       column_tiles = tiles_of_columns, depth_tile = depth, stages = stage_count;
  static constexpr bool left_quads = true, right_quads = true, out_pairs = true;
};
template <int features, class T>
void time_product(const char* how) {
  using P = InputProduct<features>;
  Buffer<float> x(5120 * features), w(1024 * features), out(5120 * 1024);
  draw<<<256, 256>>>(x.data, 5120 * features, 1, true, 1.0f);
  draw<<<256, 256>>>(w.data, 1024 * features, 2, true, 1.0f);
  const double time = time_of([&] {
    OK((enqueue_tensor_core_product<P, T>("product", x.data, w.data, out.data, NoEpilogue{}, nullptr)));
  });
  say("input's product, %d features, tiles %-16s %7.1f us, %6.1f TFLOP/s\n", features, how, time * 1e3,
      2.0 * 5120 * 1024 * features / time / 1e9);
}

void time_gates_product() {
  Buffer<float> x(5120 * 512), w(2 * 1024 * 512), out(2 * 5120 * 1024);
  Buffer<unsigned> largest(2);
  draw<<<256, 256>>>(x.data, 5120 * 512, 1, false, 1.0f);
  draw<<<256, 256>>>(w.data, 2 * 1024 * 512, 2, true, 0.06f);
  CUDA(cudaMemset(largest.data, 0, 8));
  Arrays<2> arrays{{w.data, w.data + 1024 * 512}, {1024 * 512, 1024 * 512}};
  GatesProduct<2> product{
      x.data, {w.data, w.data + 1024 * 512}, {out.data, out.data + 5120 * 1024}, largest.data, nullptr};
  const double looked = time_of([&] {
    OK(launch("largest", largest_magnitudes<2>, {dim3(32, 2), 256}, nullptr, arrays, largest.data));
  });
  const double time = time_of([&] { OK((enqueue_gates_product<5120, 256, 4, 512>(product, nullptr))); });
  double wrong = 0, norm = 0;
  for (int sample = 0; sample < 32; ++sample) {
    const int row = sample * 157 % 5120, column = sample * 211 % 1024, d = sample % 2;
    std::vector<float> a(512), b(512);
    CUDA(cudaMemcpy(a.data(), x.data + row * 512, 2048, cudaMemcpyDefault));
    CUDA(cudaMemcpy(b.data(), w.data + (d * 1024 + column % 4 * 256 + column / 4) * 512, 2048,
                    cudaMemcpyDefault));
    double sum = 0;
    for (int k = 0; k < 512; ++k) sum += double{a[k]} * b[k];
    float made;
    CUDA(cudaMemcpy(&made, out.data + (int64_t{d} * 5120 + row) * 1024 + column, 4, cudaMemcpyDefault));
    wrong += (made - sum) * (made - sum), norm += sum * sum;
  }
  say("gates of both directions, 512 features: %7.1f us, %6.1f TFLOP/s, error %.1e; largest weights: %.1f "
      "us\n",
      time * 1e3, 2.0 * 2 * 5120 * 1024 * 512 / time / 1e9, std::sqrt(wrong / norm), looked * 1e3);
}

template <class Of>
struct Whole : Of {
  static constexpr int input = 128, layers = 6;
  static constexpr int64_t x_step = 1280, x_sample = 128, x_feature = 1;
};
// What the last run left, to hold the next one against.
std::vector<float> before;
double error_of(const Buffer<float>& y, int64_t count, bool compare) {
  const std::vector<float> now = on_host(y.data, count), last = std::exchange(before, now);
  return compare ? relative_error(last, now) : 0;
}
template <class Of>
void time_whole(const char* name) {
  using S = ClusterSizes<Of>;
  constexpr int slots = 6 * S::directions;
  const int64_t state = int64_t{slots} * S::batch * S::hidden, width = S::directions * S::hidden,
                published = S::wavefront ? int64_t{4} * 5 * S::chunks * S::steps * S::state : 0;
  Buffer<float> weights(2 * 1024 * 512), x(S::steps * S::batch * 128), h0(state),
      y(S::steps * S::batch * width),
      workspace(S::steps * S::batch * width * (S::gates + 1) + 1024 + published);
  draw<<<256, 256>>>(weights.data, 2 * 1024 * 512, 99999999, false, 1.0f);
  centre<<<256, 256>>>(weights.data, 2 * 1024 * 512);
  draw<<<256, 256>>>(x.data, S::steps * S::batch * 128, 5, true, 1.0f);
  draw<<<256, 256>>>(h0.data, state, 5, true, 1.0f);
  ClusterRecurrence<Whole<Of>, slots> r{};
  for (auto& w : r.weights) w = {weights.data, weights.data + 1024 * 512, weights.data, weights.data};
  r.x = x.data, r.h0 = r.c0 = h0.data, r.workspace = workspace.data, r.y = y.data,
  r.y_step = S::batch * width, r.y_sample = width;
  const double time = time_of([&] { OK(enqueue_cluster_recurrence(r, nullptr)); });
  CUDA(cudaDeviceSynchronize());
  const double error = error_of(y, S::steps * S::batch * width, true);
  say("%-18s cluster %2d, %2d samples, %d layers at once, all 6 layers: %7.3f ms, error %.1e %s\n", name,
      S::cluster, S::samples, S::layers_at_once, time, error, error < 1e-5 ? "" : "WRONG");
}

template <RecurrenceKind the_kind, int the_directions, int at_once, int the_samples, int the_units,
          int the_slices, int state, int inputs>
struct Persistent {
  static constexpr RecurrenceKind kind = the_kind;
  static constexpr int steps = 512, batch = 10, input = 128, hidden = 256, layers = 6,
                       directions = the_directions;
  static constexpr int layers_at_once = at_once, samples = the_samples, units = the_units, units_each = 1,
                       slices = the_slices, state_warps = state, input_warps = inputs;
};
template <class Of>
void time_persistent(const char* name) {
  using S = PersistentSizes<Of>;
  constexpr int slots = S::layers * S::directions;
  const int64_t state = int64_t{slots} * S::batch * S::hidden;
  Buffer<float> weights(2 * 1024 * 512), x(S::steps * S::batch * S::input), h0(state),
      exchange(S::exchanged_bytes / 4), y(S::steps * S::batch * S::width);
  draw<<<256, 256>>>(weights.data, 2 * 1024 * 512, 99999999, false, 1.0f);
  centre<<<256, 256>>>(weights.data, 2 * 1024 * 512);
  draw<<<256, 256>>>(x.data, S::steps * S::batch * S::input, 5, true, 1.0f);
  draw<<<256, 256>>>(h0.data, state, 5, true, 1.0f);
  PersistentRecurrence<Of, slots> r{};
  for (auto& w : r.weights) w = {weights.data, weights.data + 1024 * 512, weights.data, weights.data};
  r.x = x.data, r.x_step = S::batch * S::input, r.x_sample = S::input, r.x_feature = 1;
  r.h0 = r.c0 = h0.data, r.exchange = exchange.data, r.y = y.data, r.y_step = S::batch * S::width,
  r.y_sample = S::width;
  const double time = time_of([&] { OK(enqueue_persistent_recurrence(r, nullptr)); });
  error_of(y, S::steps * S::batch * S::width, false);
  say("persistent %-18s all 6 layers: %7.3f ms\n", name, time);
}

int main() {
  constexpr auto lstm = RecurrenceKind::lstm, gru = RecurrenceKind::gru, tanh = RecurrenceKind::tanh;
  time_layer<Sizes<lstm, 2, 16, 2>>("lstm both ways");
  time_layer<Sizes<lstm, 2, 16, 3>>("lstm both ways");
  time_layer<Sizes<lstm, 2, 16, 4>>("lstm both ways");
  time_layer<Sizes<lstm, 2, 16, 5>>("lstm both ways");
  time_layer<Sizes<lstm, 2, 8, 2>>("lstm both ways");
  time_layer<Sizes<lstm, 2, 8, 4>>("lstm both ways");
  time_layer<Sizes<gru, 2, 16, 4>>("gru both ways");
  time_layer<Sizes<gru, 2, 8, 2>>("gru both ways");
  time_layer<Sizes<lstm, 1, 16, 2>>("lstm");
  time_layer<Sizes<tanh, 1, 16, 4, 8>>("tanh");
  time_layer<Sizes<tanh, 1, 16, 2, 8>>("tanh");
  time_gates_product();
  time_product<128, Tiles<2, 2, 4, 4, 32, 3>>("2x2 4x4 32x3");
  time_persistent<Persistent<lstm, 2, 1, 10, 4, 32, 2, 2>>("lstm both ways");
  time_whole<Sizes<lstm, 2, 16, 4>>("lstm both ways");
  time_whole<Sizes<lstm, 2, 8, 2>>("lstm both ways");
  time_persistent<Persistent<gru, 2, 1, 5, 8, 32, 2, 2>>("gru both ways");
  time_whole<Sizes<gru, 2, 16, 4>>("gru both ways");
  time_persistent<Persistent<lstm, 1, 6, 10, 12, 32, 2, 2>>("lstm");
  time_whole<Sizes<lstm, 1, 16, 2>>("lstm");
  time_whole<Sizes<lstm, 1, 16, 10, 10, 6>>("lstm");
  time_persistent<Persistent<gru, 1, 6, 10, 12, 16, 2, 1>>("gru");
  time_whole<Sizes<gru, 1, 16, 10, 10, 6>>("gru");
}
