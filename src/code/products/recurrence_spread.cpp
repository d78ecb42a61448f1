#include "code/products/recurrence_spread.h"

#include <algorithm>

namespace stitch::code {

namespace {

int64_t up(int64_t count, int64_t by) { return (count + by - 1) / by; }

// Registers a thread may have, by the warps of its block: each quarter of a multiprocessor has 512 for a lane.
int64_t registers(int64_t warps) { return warps <= 8 ? 255 : warps <= 12 ? 168 : warps <= 16 ? 128 : 0; }

// Guesses until they are measured: clocks from publishing a state until everybody has it in shared memory, for
// the cell and the barriers, and what every further block adds to reading and waiting.
constexpr double exchange_clocks = 1400, cell_clocks = 400, clocks_a_block = 2;
constexpr int64_t spare_registers = 28;
constexpr int64_t shared_limit = 220 * 1024;

// Completes `spread` with its warps and clocks; false: it doesn't fit.
bool complete(const Recurrence& r, int64_t processors, Spread& spread) {
  int64_t sums = r.kind == "gru" ? 4 : r.gates, quads = up(spread.samples, 4);
  int64_t width = r.directions * r.hidden, features = r.layers > 1 ? std::max(r.input, width) : r.input;
  int64_t blocks = spread.layers_at_once * r.directions * up(r.batch, spread.samples) * up(r.hidden, spread.units);
  if (blocks > processors) return false;

  int64_t from_input = up(features, spread.slices), from_state = up(r.hidden, spread.slices);
  int64_t rows = spread.slices * (up(std::max(r.input, width), spread.slices) + from_state);
  if (2 * rows * (quads | 1) * 16 > shared_limit) return false;
  spread.state_warps = std::clamp<int64_t>(up(r.hidden * quads, 32 * 12), 1, 2);
  spread.input_warps = std::clamp<int64_t>(up(features * quads, 32 * 16), 1, 3);
  int64_t compute_warps = up(up(spread.units, spread.units_each) * spread.slices, 32);
  int64_t held = spread.units_each * (r.gates * (from_input + from_state) + sums * spread.samples);
  if (held + spare_registers > registers(compute_warps + spread.state_warps + spread.input_warps)) return false;

  // A warp multiplies once a clock on its quarter of the multiprocessor; 16 bytes a lane from shared memory
  // keep all of it busy for four.
  auto multiply = [&](int64_t each) {
    int64_t products = up(compute_warps, 4) * each * spread.units_each * r.gates * spread.samples;
    return static_cast<double>(std::max(products, compute_warps * each * quads * 4));
  };
  int64_t shuffles = 0, count = spread.samples;
  for (int64_t lanes = spread.slices; lanes > 1; lanes /= 2) shuffles += count = up(count, 2);
  double step = std::max(multiply(from_input), exchange_clocks) + multiply(from_state) + cell_clocks +
                static_cast<double>(compute_warps * spread.units_each * sums * shuffles) +
                clocks_a_block * static_cast<double>(blocks);
  spread.clocks = step * static_cast<double>(r.steps * (r.layers / spread.layers_at_once) + spread.layers_at_once);
  return true;
}

}  // namespace

std::optional<Spread> spread_of(const Recurrence& r, int64_t processors) {
  std::optional<Spread> best;
  for (int64_t chunks = 1; chunks <= std::min<int64_t>(r.batch, 64); ++chunks)
    for (int64_t layers = r.directions == 1 ? r.layers : 1; layers > 0; --layers) {
      if (r.layers % layers != 0) continue;
      for (int64_t slices : {8, 16, 32})
        for (int64_t units_each : {1, 2, 4})
          for (int64_t units = units_each; units <= up(r.hidden, units_each) * units_each && units <= 64;
               units += units_each) {
            Spread spread{layers, up(r.batch, chunks), units, units_each, slices};
            if (complete(r, processors, spread) && (!best || spread.clocks < best->clocks)) best = spread;
          }
    }
  return best;
}

}  // namespace stitch::code
