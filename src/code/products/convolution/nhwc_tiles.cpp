#include "code/products/convolution/nhwc_tiles.h"

#include <algorithm>

#include "code/products/techniques.h"

namespace stitch::code {

namespace {

constexpr int64_t most_filter_tiles = 8;
constexpr int64_t most_joined_tiles = 64;  // 32 KB of shared memory
constexpr int64_t depth_choices[] = {1, 2, 4, 8};

int64_t tiles_for(int64_t count, int64_t by) { return (count + by - 1) / by; }

// Cycles until the last warp is done: one warp's latency, and a warp scheduler's share of the work. Fitted to
// 16 products of mobile networks on an H200, with 9 to 14 tiles each: the chosen tile is 8 % slower than the
// best, on average. 32 pixels per warp were never faster than 16.
struct TimedTiles {
  NhwcTiles tiles;
  double clocks = 0;
};
TimedTiles best_tiles(int64_t pixels, int64_t channels, int64_t filters, DType type, bool exact, int sms) {
  const int64_t all = tiles_for(filters, 8), steps = tiles_for(channels, nhwc_step(type));
  const double products = exact ? 3 : 1, parts = exact ? 2 : 1;
  TimedTiles best;
  for (int64_t most = 1; most <= most_filter_tiles; ++most)
    for (int64_t depth_warps : depth_choices) {
      const int64_t slices = tiles_for(all, most), filter_tiles = tiles_for(all, slices);
      if (depth_warps > 1 && (depth_warps > steps || depth_warps * filter_tiles > most_joined_tiles))
        continue;
      const double warps = static_cast<double>(tiles_for(pixels, 16) * slices * depth_warps),
                   own_steps = static_cast<double>(tiles_for(steps, depth_warps)),
                   tiles = static_cast<double>(filter_tiles);
      constexpr double start = 3300, step = 146, step_of_tile = 17, join = 95, mma = 35, load = 9;
      // Four tiles of 16-bit results are stored together (a guess: not timed yet).
      const double store = size_of(type) == 2 && filter_tiles % 4 == 0 && depth_warps == 1 ? 4 : 10;
      const double waits = start + own_steps * (step + parts * tiles * step_of_tile) + 4 * tiles * store;
      const double work = own_steps * (2 * tiles * products * mma + (2 + parts * tiles) * load) +
                          tiles * store + (depth_warps > 1 ? join : 0);
      const double clocks = waits + work * warps / (4 * sms);
      if (best.clocks == 0 || clocks < best.clocks) best = {{1, filter_tiles, depth_warps}, clocks};
    }
  return best;
}

}  // namespace

int64_t nhwc_step(DType type) { return 64 / size_of(type); }

int64_t NhwcTiles::slices(int64_t filters) const { return tiles_for(tiles_for(filters, 8), filter_tiles); }

NhwcTiles nhwc_tiles(const plan::Context& context, const plan::Region& region, int64_t pixels,
                     int64_t channels, int64_t filters, DType type, bool exact) {
  NhwcTiles tiles = best_tiles(pixels, channels, filters, type, exact, context.gpu.sms).tiles;
  tiles.pixel_tiles = region.choice("pixel_tiles", tiles.pixel_tiles);
  tiles.filter_tiles = region.choice("filter_tiles", tiles.filter_tiles);
  tiles.depth_warps = region.choice("depth_warps", tiles.depth_warps);
  while (tiles.depth_warps > 1 &&
         tiles.depth_warps * tiles.pixel_tiles * tiles.filter_tiles > most_joined_tiles)
    tiles.depth_warps /= 2;
  return tiles;
}

// On seven products of other networks: 10 to 20 % below the measured times with few pixels, 34 and 48 % above
// with many.
double nhwc_seconds(const plan::Context& context, int64_t pixels, int64_t channels, int64_t filters,
                    DType type, bool exact) {
  constexpr double clock = 1.9e9;  // of the measured GPU
  return best_tiles(pixels, channels, filters, type, exact, context.gpu.sms).clocks / clock;
}

std::vector<plan::Knob> nhwc_knobs() {
  return {{"pixel_tiles", "tiles of 16 pixels per warp", {1, 2}},
          {"filter_tiles", "tiles of 8 filters per warp", {1, 2, 3, 4, 5, 6, 7, 8}},
          {"depth_warps", "warps that share the channels", {1, 2, 4, 8}}};
}

}  // namespace stitch::code
