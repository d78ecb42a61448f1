#include "code/products/recurrence/recurrence_spread.h"

#include <algorithm>

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

}  // namespace stitch::code
