// A recurrence whose states stay inside clusters of blocks (recurrence_cluster_steps.h), for all layers: as
// one wavefront after the first layer's product, or layer by layer, each after a product of all its inputs.
#pragma once

#include "stitch/kernels/matmul_tensor_core.h"
#include "stitch/kernels/recurrence_cluster_steps.h"
#include "stitch/kernels/recurrence_product.h"

namespace stitch {
// The input's part of the gates in one direction: (steps · batch, features) times (gates, hidden, features)ᵀ,
// a unit's gates contiguous.
// `from_below`: the other layers', (steps, batch, features).
template <class Of, int feature_count, bool from_below>
struct GatesFromInput : Of {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr int gates = gates_of(Of::kind);
  static constexpr Index batches = 1, columns = gates * Of::hidden, depth = feature_count;
  static constexpr bool by_feature = from_below || Of::x_feature == 1;
  static constexpr bool left_by_depth = by_feature, right_by_depth = true, has_right = true, padded = false;

  explicit GatesFromInput(Of sizes) : Of(sizes) {}
  __device__ Index left(Index, Index row, Index k) const {
    const int64_t step = from_below ? int64_t{this->batch} * feature_count : int64_t{this->x_step},
                  sample = from_below ? feature_count : int64_t{this->x_sample},
                  feature = from_below ? 1 : Of::x_feature;
    return static_cast<Index>(row / this->batch * step + row % this->batch * sample + k * feature);
  }
  __device__ static Index right(Index, Index k, Index column) {
    return (column % gates * Of::hidden + column / gates) * feature_count + k;
  }
  __device__ static Index out(Index, Index row, Index column) { return row * columns + column; }
  __device__ static Index position(Index, Index row, Index column) { return row * columns + column; }
  struct Tiles {
    static constexpr int warp_rows = 2, warp_columns = 2, row_tiles = 4, column_tiles = 4;
    static constexpr int depth_tile = depth < 32 ? (depth + 7) / 8 * 8 : 32, stages = depth > 32 ? 3 : 1;
    static constexpr bool folds = depth > 256;
    static constexpr bool left_quads = feature_count % 4 == 0 && (from_below || Of::x_quads);
    static constexpr bool right_quads = feature_count % 4 == 0, out_pairs = columns % 2 == 0;
  };
};

// All layers. `Of` also has rows, which are steps · batch, the first layer's features and the strides of its
// input: input, layers, x_step, x_sample, x_feature; x_quads: four features are contiguous, 16-byte aligned
// if the input is.
template <class Of, int slots>
struct ClusterRecurrence {
  RecurrenceWeights weights[slots];  // by layer, then direction
  const float* x;                    // (steps, batch, input)
  const float *h0, *c0;              // (layers · directions, batch, hidden)
  float* workspace;                  // the gates' parts of all directions, then a layer's states
  float* y;                          // (steps, batch, directions · hidden) or null, strides:
  int64_t y_step, y_sample;
  float *hn, *cn;  // (layers · directions, batch, hidden) or null
  Of sizes;
};

template <class Of, int slots>
StitchStatus enqueue_layer_by_layer(const ClusterRecurrence<Of, slots>& r, cudaStream_t stream) {
  using S = ClusterSizes<Of>;
  static_assert(slots == Of::layers * S::directions);
  constexpr int width = S::directions * S::hidden;
  const int batch = r.sizes.batch, rows = r.sizes.rows;
  const int64_t share = int64_t{rows} * S::gates * S::hidden,
                state = int64_t{S::directions} * batch * S::hidden;
  using First = GatesFromInput<Of, Of::input, false>;
  using Other = GatesFromInput<Of, width, true>;
  float* below = r.workspace + S::directions * share;  // (steps, batch, width)
  // Scales of weights and first states.
  constexpr bool splits = Of::layers > 1 && width % 4 == 0;
  auto* largest = reinterpret_cast<unsigned*>(below + (splits ? int64_t{rows} * width : 0));
  if constexpr (splits) {
    Arrays<slots + Of::layers> arrays{};
    for (int slot = 0; slot < slots; ++slot) {
      arrays.from[slot] = r.weights[slot].input;
      arrays.elements[slot] = slot < S::directions ? 0 : int64_t{S::gates} * S::hidden * width;
    }
    for (int l = 0; l < Of::layers; ++l)
      arrays.from[slots + l] = r.h0 + l * state, arrays.elements[slots + l] = state;
    STITCH_CUDA(cudaMemsetAsync(largest, 0, (slots + Of::layers) * sizeof(unsigned), stream));
    STITCH_OK_OR_RETURN(launch("largest_magnitudes", largest_magnitudes<slots + Of::layers>,
                               {dim3(32, slots + Of::layers), 256}, stream, arrays, largest));
  }
  for (int l = 0; l < Of::layers; ++l) {
    const bool last = l == Of::layers - 1;
    ClusterLayers<Of> layer{};
    layer.sizes = r.sizes;
    GatesProduct<S::directions> product{below};
    for (int d = 0; d < S::directions; ++d) {
      const RecurrenceWeights& own = r.weights[l * S::directions + d];
      float* given = r.workspace + d * share;
      if (l == 0)
        STITCH_OK_OR_RETURN(enqueue_tensor_core_product<typename First::Tiles>(
            "gates_from_input", First(r.sizes), r.x, own.input, given, NoEpilogue{}, stream));
      else if constexpr (!splits)
        STITCH_OK_OR_RETURN(enqueue_tensor_core_product<typename Other::Tiles>(
            "gates_from_below", Other(r.sizes), below, own.input, given, NoEpilogue{}, stream));
      product.weights[d] = own.input, product.to[d] = given;
      layer.of[d] = {given, nullptr, own.hidden, own.input_bias, own.hidden_bias};
    }
    if constexpr (splits)
      if (l > 0) {
        product.largest_weight = largest + l * S::directions;
        product.largest_state = S::kind == RecurrenceKind::gru ? largest + slots + l - 1 : nullptr;
        STITCH_OK_OR_RETURN((enqueue_gates_product<S::hidden, S::gates, width>(product, rows, stream)));
      }
    layer.h0 = r.h0 + l * state;
    layer.c0 = r.c0 ? r.c0 + l * state : nullptr;
    layer.y = last ? r.y : below;
    layer.y_step = last ? r.y_step : int64_t{batch} * width;
    layer.y_sample = last ? r.y_sample : width;
    layer.hn = r.hn ? r.hn + l * state : nullptr;
    layer.cn = r.cn ? r.cn + l * state : nullptr;
    STITCH_OK_OR_RETURN(enqueue_cluster_layers(layer, stream));
  }
  return STITCH_OK;
}

// Layers of one direction, all at once.
template <class Of, int slots>
StitchStatus enqueue_wavefront(const ClusterRecurrence<Of, slots>& r, cudaStream_t stream) {
  using S = ClusterSizes<Of>;
  static_assert(slots == S::layers_at_once && S::directions == 1);
  const int64_t steps = r.sizes.steps, share = (steps * r.sizes.batch * S::gates * S::hidden + 3) / 4 * 4;
  using First = GatesFromInput<Of, Of::input, false>;
  ClusterLayers<Of> layers{};
  layers.sizes = r.sizes;
  layers.published = reinterpret_cast<uint4*>(r.workspace + share);
  STITCH_CUDA(cudaMemsetAsync(layers.published, 0xff,
                              sizeof(uint4) * (slots - 1) * S::chunks(r.sizes) * steps * S::state, stream));
  STITCH_OK_OR_RETURN(enqueue_tensor_core_product<typename First::Tiles>(
      "gates_from_input", First(r.sizes), r.x, r.weights[0].input, r.workspace, NoEpilogue{}, stream));
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

// Checks at create that the GPU has clusters.
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
