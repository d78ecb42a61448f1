#include "code/products/recurrence/recurrence_spread.h"

#include <algorithm>

#include "base/division.h"

namespace stitch::code {

namespace {

int64_t up(int64_t count, int64_t by) { return (count + by - 1) / by; }

// Registers per thread, by the warps of its block: each quarter of a multiprocessor has 512 per lane.
int64_t registers(int64_t warps) { return warps <= 8 ? 255 : warps <= 12 ? 168 : warps <= 16 ? 128 : 0; }

// Fitted as a whole on an H200: bare exchanges take 0.69 us per step with 2 blocks and 0.92 us with 64, an
// LSTM of 6 layers 3.9 us, and more lanes per unit win although a few registers spill. Cycles from publishing
// a state until all blocks have it in shared memory; for the cell and the barriers; for every 16 bytes that a
// lane fetches; for a batch of loads issued together; and per block that is waited for.
constexpr double exchange_clocks = 1400, cell_clocks = 400, clocks_a_fetch = 8, clocks_a_batch = 1000,
                 clocks_a_block = 2;
constexpr int64_t spare_registers = 24;
constexpr int64_t spare_shared_bytes = 7 * 1024;

// Estimates `spread`'s cycles; false: it doesn't fit.
bool estimate(const Recurrence& r, const GpuSpec& gpu, Spread& spread) {
  int64_t sums = r.kind == "gru" ? 4 : r.gates, quads = up(spread.samples, 4);
  int64_t width = r.directions * r.hidden, features = r.layers > 1 ? std::max(r.input, width) : r.input;
  int64_t blocks = spread.blocks(r);
  if (blocks > gpu.sms) return false;

  int64_t from_input = up(features, spread.slices), from_state = up(r.hidden, spread.slices);
  int64_t rows = spread.slices * (up(std::max(r.input, width), spread.slices) + from_state);
  if (2 * rows * (quads | 1) * 16 > gpu.shared_per_block - spare_shared_bytes) return false;
  int64_t states_a_lane = up(r.hidden * quads, 32 * spread.state_warps);
  int64_t inputs_a_lane = up(features * quads, 32 * spread.input_warps);
  if (states_a_lane > 24) return false;  // more loads than a lane can have in flight
  int64_t compute_warps = up(up(spread.units, spread.units_each) * spread.slices, 32);
  int64_t held = spread.units_each * (r.gates * (from_input + from_state) + sums * spread.samples);
  if (held + spare_registers > registers(compute_warps + spread.state_warps + spread.input_warps))
    return false;

  // A warp multiplies once per cycle on its quarter of the multiprocessor; 16 bytes per lane from shared
  // memory occupy all of it for four.
  auto multiply = [&](int64_t each) {
    int64_t products = up(compute_warps, 4) * each * spread.units_each * r.gates * spread.samples;
    return static_cast<double>(std::max(products, compute_warps * each * quads * 4));
  };
  int64_t shuffles = 0, count = spread.samples;
  for (int64_t lanes = spread.slices; lanes > 1; lanes /= 2) shuffles += count = up(count, 2);
  double exchange = exchange_clocks + clocks_a_fetch * static_cast<double>(states_a_lane);
  double step = std::max(multiply(from_input), exchange) + multiply(from_state) + cell_clocks +
                static_cast<double>(compute_warps * spread.units_each * sums * shuffles) +
                clocks_a_block * static_cast<double>(blocks);
  // The next input is fetched at the same time, in batches of 16 loads.
  step = std::max(step, clocks_a_batch * static_cast<double>(up(inputs_a_lane, 16)) +
                            5 * clocks_a_fetch * static_cast<double>(inputs_a_lane));
  spread.clocks =
      step * static_cast<double>(r.steps * (r.layers / spread.layers_at_once) + spread.layers_at_once);
  return true;
}

}  // namespace

int64_t Spread::blocks(const Recurrence& r) const {
  return layers_at_once * r.directions * up(r.batch, samples) * up(r.hidden, units);
}

std::optional<Spread> spread_of(const Recurrence& r, const GpuSpec& gpu) {
  std::optional<Spread> best;
  for (int64_t chunks = 1; chunks <= std::min<int64_t>(r.batch, 64); ++chunks)
    for (int64_t layers = r.directions == 1 ? r.layers : 1; layers > 0; --layers) {
      if (r.layers % layers != 0) continue;
      for (int64_t slices : {8, 16, 32})
        for (int64_t units_each : {1, 2, 4})
          for (int64_t units = units_each; units <= up(r.hidden, units_each) * units_each && units <= 64;
               units += units_each)
            for (int64_t state_warps : {1, 2, 4})
              for (int64_t input_warps : {1, 2, 3, 4}) {
                Spread spread{layers, up(r.batch, chunks), units,      units_each,
                              slices, state_warps,         input_warps};
                if (estimate(r, gpu, spread) && (!best || spread.clocks < best->clocks)) best = spread;
              }
    }
  return best;
}

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
