#include "code/products/convolution/tiles.h"

#include <algorithm>

#include "base/format.h"
#include "code/names.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

using Three = Convolution::Three;

int64_t ceil_of(int64_t count, int64_t by) { return (count + by - 1) / by; }

// As a convolution over the image's own pixels.
std::optional<ImplicitConvolution> walk(const Convolution& c) {
  ImplicitConvolution out{};
  out.size_in = c.size_in;
  out.result = c.size_out;
  out.weights = c.kernel;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t stride = c.stride[d], padding = c.padding[d];
    out.kernel[d] = c.kernel[d];
    out.dilation[d] = c.dilation[d];
    out.phases[d] = 1;
    if (!c.transposed) {
      out.size_out[d] = c.size_out[d];
      out.stride[d] = stride;
      out.padding[d] = padding;
      continue;
    }
    // Output o uses tap k of pixel i where o + padding = stride · i + dilation · k.
    out.stride[d] = 1;
    if (stride == 1) {
      out.size_out[d] = c.size_out[d];
      out.padding[d] = (c.kernel[d] - 1) * c.dilation[d] - padding;
      continue;
    }
    if (c.dilation[d] != 1 && c.kernel[d] > 1) return std::nullopt;
    const int64_t first = padding / stride;
    out.phases[d] = stride;
    out.dilation[d] = 1;
    out.kernel[d] = ceil_of(c.kernel[d], stride);
    out.size_out[d] = (c.size_out[d] - 1 + padding) / stride - first + 1;
    out.padding[d] = out.kernel[d] - 1 - first;
    out.before[d] = padding % stride;
  }
  return out;
}

// The same numbers and names as ImplicitTile.
class Sizes {
 public:
  Sizes(const Convolution& c, bool exact) : c_(c), parts_(exact ? 2 : 1) {
    slices_ = ceil_of(c.channels_out, 128);
    const int64_t slice = ceil_of(ceil_of(c.channels_out, slices_), 16) * 16;
    filter_warps_ = slice > 64 ? 2 : 1;
    filters_ = ceil_of(slice, 16 * filter_warps_) * 16 * filter_warps_;
    octet_channels_ = c.channels_in > 4 ? 8 : c.channels_in > 2 ? 4 : c.channels_in;
    octets_ = ceil_of(c.channels_in, octet_channels_);
  }
  int64_t pixels() const { return 4 / filter_warps_ * 64; }
  int64_t octets() const { return octets_; }

  void measure(ImplicitConvolution& walked) const {
    Three halo{};
    walked.blocks = c_.batch;
    for (size_t d = 0; d < 3; ++d) {
      halo[d] = (walked.tile[d] - 1) * walked.stride[d] + (walked.kernel[d] - 1) * walked.dilation[d] + 1;
      walked.blocks *= ceil_of(walked.size_out[d], walked.tile[d]);
    }
    const int64_t most = steps_of(walked, {0, 0, 0}), step = parts_ * 2 * filters_ * 8,
                  limit = std::max<int64_t>(8192 / step, 1),
                  stage_steps = ceil_of(most, ceil_of(most, limit)), chunks = ceil_of(octets_, walked.chunk);
    int64_t stages = 0, steps = 0, phases = 0;
    for (int64_t z = 0; z < walked.phases[0]; ++z)
      for (int64_t y = 0; y < walked.phases[1]; ++y)
        for (int64_t x = 0; x < walked.phases[2]; ++x, ++phases) {
          steps += steps_of(walked, {z, y, x});
          stages += ceil_of(steps_of(walked, {z, y, x}), stage_steps);
        }
    walked.packed = slices_ * chunks * stages * stage_steps * step;
    walked.products =
        static_cast<double>(walked.blocks * slices_ * chunks * steps * 16 * filters_ * pixels());
    const int64_t octets = walked.chunk * halo[0] * halo[1] * halo[2], halos = chunks > 1 ? 2 : 1,
                  halo_bytes = halos * parts_ * octets * 16, ring_bytes = 3 * stage_steps * step * 2,
                  table_bytes = ceil_of(16 + phases * most * 2 * 4, 128) * 128;
    walked.in_registers = chunks > 1 ? ceil_of(octets, 128) : 0;
    walked.shared_bytes = halo_bytes + ring_bytes + table_bytes + 4 * 16 * 40 * 4;
  }

  // Cycles per multiprocessor, roughly: the halo's sectors and the products at half the tensor cores' rate.
  double clocks(const ImplicitConvolution& walked) const {
    Three halo{};
    for (size_t d = 0; d < 3; ++d)
      halo[d] = (walked.tile[d] - 1) * walked.stride[d] + (walked.kernel[d] - 1) * walked.dilation[d] + 1;
    const bool again = walked.chunk < octets_;
    const int64_t times =
        again ? slices_ * walked.phases[0] * walked.phases[1] * walked.phases[2] : int64_t{1};
    const double loaded =
        0.25 * static_cast<double>(walked.blocks * times * octets_ * halo[0] * halo[1] * (halo[2] + 12));
    return loaded + walked.products * (parts_ == 2 ? 3 : 1) / 1024;
  }

 private:
  int64_t steps_of(const ImplicitConvolution& walked, const Three& phase) const {
    Three taps{};
    for (size_t d = 0; d < 3; ++d)
      taps[d] = phase[d] < walked.weights[d] ? ceil_of(walked.weights[d] - phase[d], walked.phases[d]) : 0;
    return ceil_of(taps[0] * taps[1] * ceil_of(taps[2], 8 / octet_channels_) * walked.chunk, 2);
  }

  const Convolution& c_;
  int64_t parts_, slices_, filter_warps_, filters_, octet_channels_, octets_;
};

}  // namespace

std::optional<PooledConvolution> pooled_of(const Graph& graph, const plan::Region& region) {
  const Node& pool = graph.node(region.nodes.back());
  const bool mean = pool.op == Op::avg_pool;
  if ((pool.op != Op::max_pool && !mean) || pool.results.size() != 1 || region.nodes.size() < 2 ||
      region.writes != std::vector{pool.results[0]} || pool.attributes.flag("ceil") ||
      (mean && pool.attributes.integer("divisor") != 0))
    return std::nullopt;
  PooledConvolution out{.without = region, .pool = &pool};
  out.without.nodes.pop_back();
  out.without.writes = {pool.operands[0]};
  const auto& window = pool.attributes.integers("kernel");
  for (size_t d = 0; d < window.size(); ++d) {
    const int64_t size = window[d];
    const bool dense = pool.attributes.integers("stride")[d] == size &&
                       pool.attributes.integers("padding")[d] == 0 &&
                       (mean || pool.attributes.integers("dilation")[d] == 1);
    if (!dense || (size != 1 && size != 2 && size != 4 && size != 8)) return std::nullopt;
    out.window[3 - window.size() + d] = size;
  }
  if (out.window[0] != 1) return std::nullopt;
  auto parts = parts_of(graph, out.without, convolution_ops);
  if (!parts || parts->result != pool.operands[0]) return std::nullopt;
  for (const Node* node : parts->after)
    if (node->op == Op::permute || node->op == Op::reshape) return std::nullopt;
  return out;
}

std::optional<ImplicitConvolution> implicit_of(const GpuSpec& gpu, const Convolution& c, bool exact,
                                               const std::optional<PooledConvolution>& pooled) {
  constexpr int64_t most = int64_t{1} << 31, own = 1024;  // per block, reserved by the driver
  if (c.groups != 1 || c.channels_in == 0 || c.taps() == 0) return std::nullopt;
  std::optional<ImplicitConvolution> walked = walk(c);
  if (!walked) return std::nullopt;
  if (pooled) {
    if (walked->phases != Three{1, 1, 1}) return std::nullopt;
    walked->pool = pooled->window;
    walked->pool_max = pooled->pool->op == Op::max_pool;
  }
  constexpr int64_t warp_pixels = 64;
  const Sizes sizes(c, exact);
  std::optional<ImplicitConvolution> best;
  const int64_t pixels = sizes.pixels();
  for (int64_t chunk : {8, 4, 2, 1}) {
    const int64_t chunks = ceil_of(sizes.octets(), chunk);
    walked->chunk = ceil_of(sizes.octets(), chunks);
    for (int64_t x = 8; x <= pixels; x *= 2)
      for (int64_t z = 1; z * x <= pixels; z *= 2) {
        walked->tile = {z, pixels / x / z, x};
        if (x < walked->pool[2] || walked->tile[1] % walked->pool[1] != 0 ||
            (pooled && x * walked->pool[1] > warp_pixels))
          continue;
        // No tile is more than twice as large as the image.
        bool empty = false;
        for (size_t d = 0; d < 2; ++d)
          empty |= walked->tile[d] > 1 && walked->tile[d] >= 2 * walked->size_out[d];
        if (empty) continue;
        sizes.measure(*walked);
        constexpr int64_t most_in_registers = 4;  // besides 128 sums
        const bool fits =
            walked->in_registers <= most_in_registers &&
            walked->shared_bytes <= std::min(gpu.shared_per_sm / 2 - own, gpu.shared_per_block) &&
            walked->blocks < most;
        if (fits && (!best || sizes.clocks(*walked) < sizes.clocks(*best))) best = *walked;
      }
    if (best) return best;
  }
  return std::nullopt;
}

ImplicitConvolution with_tile_of(const ImplicitConvolution& decided, const Convolution& c, bool exact) {
  ImplicitConvolution out = *walk(c);
  out.pool = decided.pool;
  out.pool_max = decided.pool_max;
  out.tile = decided.tile;
  out.chunk = decided.chunk;
  Sizes(c, exact).measure(out);
  return out;
}

std::string implicit_struct(const Convolution& c, const ImplicitConvolution& w, const std::string& name) {
  constexpr const char* axes[] = {"z", "y", "x"};
  const View& result = c.result.view;
  const bool flat = c.dims < 3;
  std::string text = format("struct {} {{\n  using In = {};\n  using Weight = {};\n  using Out = {};\n",
                            described_as(name, flat), element_type(c.x.place->dtype),
                            element_type(c.weight.place->dtype), element_type(result.place->dtype));
  text += format("  static constexpr int samples = {}, channels = {}, filters = {}, chunk = {};\n", c.batch,
                 c.channels_in, c.channels_out, w.chunk);
  text += format("  static constexpr int tile_z = {}, tile_y = {}, tile_x = {};\n", w.tile[0], w.tile[1],
                 w.tile[2]);
  for (size_t d = flat ? 1 : 0; d < 3; ++d) {
    text += format("  static constexpr int size_in_{0} = {1}, size_out_{0} = {2}, result_{0} = {3};\n",
                   axes[d], w.size_in[d], w.size_out[d], w.result[d]);
    text += format(
        "  static constexpr int kernel_{0} = {1}, stride_{0} = {2}, padding_{0} = {3}, dilation_{0} = {4};\n",
        axes[d], w.kernel[d], w.stride[d], w.padding[d], w.dilation[d]);
    text += format("  static constexpr int phases_{0} = {1}, before_{0} = {2}, weights_{0} = {3};\n", axes[d],
                   w.phases[d], w.before[d], w.weights[d]);
  }
  text += format("  static constexpr int pool_y = {}, pool_x = {};\n  static constexpr bool pool_max = {};\n",
                 w.pool[1], w.pool[2], w.pool_max);
  text += stride_constants("x", c.strides(c.x), c.x.offset, flat) +
          stride_constants("out", c.strides(result), result.offset, flat) +
          stride_constants("weight", c.strides(c.weight), c.weight.offset, flat,
                           c.transposed ? "channel" : "filter", c.transposed ? "filter" : "channel");
  // Eight filters of NHWC results at a time.
  const auto strides = c.strides(result);
  bool packs = !c.result.scatter && result.offset % 8 == 0 && strides[1] == 1 && strides[4] != 1;
  for (size_t d : {0, 2, 3, 4}) packs &= strides[d] % 8 == 0;
  text += format("  static constexpr bool transposed = {}, packs_out = {}, scatters = {};\n", c.transposed,
                 packs, static_cast<bool>(c.result.scatter));
  // From the row-major position to the element's place.
  Index at = Index::variable("at", element_count(result.shape));
  if (c.result.scatter)
    text += format("  __device__ static int64_t scattered(int64_t at) {{ return {}; }}\n",
                   c.result.scatter(at).text());
  else
    text += "  __device__ static int64_t scattered(int64_t at) { return at; }\n";
  return text + "};\n";
}

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
