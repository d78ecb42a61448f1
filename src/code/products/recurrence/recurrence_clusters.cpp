#include "code/products/recurrence/recurrence_clusters.h"

#include "base/division.h"

#include <algorithm>

namespace stitch::code {

namespace {

// Cycles from sending a state until all blocks have it, for the cell and shuffles of four samples, for each
// sample received, and per quarter of a multiprocessor for each tensor-core product. On an H200 an LSTM's
// step takes 0.76 us with 4 samples, as here; 1.37 with 5 and 2.6 with 10 in a wavefront are more than here,
// but rnn.persistent's model is as optimistic, and it is slower (six layers: 1.43 ms, and 1.35 by clusters).
constexpr double cluster_exchange_clocks = 600, cluster_cell_clocks = 300, clocks_a_sample = 100,
                 clocks_a_product = 9;
// Products of the input's part, per multiprocessor; and a layer's fixed cost.
constexpr double products_a_clock = 200, clocks_a_layer = 15000;
// A lane holds eight registers of weights for each of these, and needs some besides.
constexpr int64_t most_depth_tiles = 20;

// For clusters of so many blocks, one per multiprocessor. Not every GPC has multiprocessors for a whole
// number of clusters: an H200 with 132 runs 7 of 16 blocks, and 15 of 8.
int64_t clusters_at_once(const GpuSpec& gpu, int64_t blocks) {
  return std::max<int64_t>((gpu.sms - gpu.sms / 16) / blocks, blocks <= gpu.sms ? 1 : 0);
}

double clocks_of(const Recurrence& r, const GpuSpec& gpu, const Clusters& c) {
  const int64_t quads = divided_up(r.hidden, 4), warps = divided_up(quads, c.blocks);
  const int64_t depth_tiles = divided_up(r.hidden, 16), sample_tiles = divided_up(c.samples, 4);
  const int64_t clusters = c.layers_at_once * r.directions * divided_up(r.batch, c.samples);
  const int64_t waves = divided_up(clusters, clusters_at_once(gpu, c.blocks));
  const double multiply =
      clocks_a_product * static_cast<double>(divided_up(warps, 4) * 2 * depth_tiles * sample_tiles);
  // In a wavefront the layer below is multiplied while the state is in flight.
  const double exchange = cluster_exchange_clocks + clocks_a_sample * static_cast<double>(c.samples),
               step = multiply + (c.layers_at_once > 1 ? std::max(multiply, exchange) : exchange) +
                      cluster_cell_clocks * static_cast<double>(sample_tiles);
  double input = 0;
  for (int64_t layer = 0; layer < (c.layers_at_once > 1 ? 1 : r.layers); ++layer) {
    const int64_t features = layer == 0 ? r.input : r.directions * r.hidden;
    input += static_cast<double>(r.steps * r.batch * features * r.directions * r.gates * r.hidden) /
             (products_a_clock * static_cast<double>(gpu.sms));
  }
  if (c.layers_at_once > 1)
    return input + clocks_a_layer + step * static_cast<double>(r.steps + 3 * r.layers);
  return input +
         static_cast<double>(r.layers) * (clocks_a_layer + step * static_cast<double>(waves * r.steps));
}

}  // namespace

std::optional<Clusters> clusters_of(const Recurrence& r, const GpuSpec& gpu) {
  // Only data-center GPUs have clusters of 16 blocks.
  const bool has_large = gpu.architecture.wgmma() || gpu.architecture.tcgen05();
  if (!has_large || divided_up(r.hidden, 16) > most_depth_tiles) return std::nullopt;
  std::optional<Clusters> best;
  for (int64_t layers : {r.layers, int64_t{1}})
    for (int64_t blocks : {16, 8, 4, 2, 1}) {
      // One warp per four units, or two; each thread may have the maximum of registers, and each block must
      // have units.
      const int64_t quads = divided_up(r.hidden, 4), each = divided_up(quads, blocks);
      if (each * (layers > 1 ? 2 : 1) > 8 || blocks > gpu.sms || (layers > 1 && r.directions > 1)) continue;
      if (divided_up(quads, each) != blocks) continue;
      for (int64_t chunks = 1; chunks <= r.batch; ++chunks) {
        Clusters clusters{layers, blocks, divided_up(r.batch, chunks)};
        if (clusters.samples > 12) continue;
        if (layers > 1 && layers * divided_up(r.batch, clusters.samples) > clusters_at_once(gpu, blocks))
          continue;
        clusters.clocks = clocks_of(r, gpu, clusters);
        if (!best || clusters.clocks < best->clocks) best = clusters;
      }
    }
  return best;
}

}  // namespace stitch::code
