#include "code/products/recurrence_clusters.h"

#include <algorithm>

namespace stitch::code {

namespace {

int64_t divided_up(int64_t count, int64_t by) { return (count + by - 1) / by; }

// Guesses for an H200: clocks from sending a state until everybody has it, for the cell and shuffles, for
// each byte that arrives, and of a quarter of a multiprocessor for each product of tensor cores.
constexpr double exchange_clocks = 500, cell_clocks = 350, clocks_a_byte = 0.08, clocks_a_product = 7;
// Of the input's share, at FP32's accuracy on tensor cores; and of launches, a layer.
constexpr double products_a_clock = 180, clocks_a_layer = 12000;
// A lane holds this many registers of weights, and needs some besides.
constexpr int64_t most_depth_tiles = 20;

double clocks_of(const Recurrence& r, const GpuSpec& gpu, const Clusters& c) {
  const int64_t quads = divided_up(r.hidden, 4), warps = divided_up(quads, c.blocks);
  const int64_t depth_tiles = divided_up(r.hidden, 16), sample_tiles = divided_up(c.samples, 8);
  const int64_t clusters = r.directions * divided_up(r.batch, c.samples);
  const int64_t waves = divided_up(clusters, std::max<int64_t>(gpu.sms / c.blocks, 1));
  const double multiply =
      clocks_a_product * static_cast<double>(divided_up(warps, 4) * 3 * depth_tiles * sample_tiles);
  const double step = exchange_clocks + multiply + cell_clocks * static_cast<double>(sample_tiles) +
                      clocks_a_byte * static_cast<double>(16 * quads * c.samples);
  double input = 0;
  for (int64_t layer = 0; layer < r.layers; ++layer) {
    const int64_t features = layer == 0 ? r.input : r.directions * r.hidden;
    input += static_cast<double>(r.steps * r.batch * features * r.directions * r.gates * r.hidden) /
             (products_a_clock * static_cast<double>(gpu.sms));
  }
  return input + static_cast<double>(r.layers) *
                     (clocks_a_layer + step * static_cast<double>(waves * r.steps));
}

}  // namespace

std::optional<Clusters> clusters_of(const Recurrence& r, const GpuSpec& gpu) {
  if (!gpu.architecture.clusters() || divided_up(r.hidden, 16) > most_depth_tiles) return std::nullopt;
  std::optional<Clusters> best;
  for (int64_t blocks : {16, 8, 4, 2, 1}) {
    // A warp a quad of units, each with the most registers that a thread may have.
    if (divided_up(divided_up(r.hidden, 4), blocks) > 8 || blocks > gpu.sms) continue;
    for (int64_t chunks = 1; chunks <= r.batch; ++chunks) {
      Clusters clusters{blocks, divided_up(r.batch, chunks)};
      if (clusters.samples > 16) continue;
      clusters.clocks = clocks_of(r, gpu, clusters);
      if (!best || clusters.clocks < best->clocks) best = clusters;
    }
  }
  return best;
}

}  // namespace stitch::code
