#include "code/loops/turned.h"

#include <algorithm>

#include "base/format.h"

namespace stitch::code::loops {

namespace {

constexpr int64_t threads = 256, turns = 4;

// A block's part: some packs of channels, and pixels enough for every thread to take four packs.
struct Tile {
  int64_t packs, width, pixels;
  int64_t channels() const { return packs * width; }
  int64_t rows() const { return threads / packs; }  // pixels that the block takes at once
};

std::optional<Tile> tile_of(const Place& write, int64_t width) {
  constexpr int64_t most_channels = 64;
  const int64_t all = write.shape[1] / width;
  int64_t packs = 1;
  while (2 * packs * width <= most_channels && all % (2 * packs) == 0) packs *= 2;
  if (packs * width < 16) return std::nullopt;
  return Tile{packs, width, turns * threads / packs};
}

bool lies_in_planes(const Place& place) {
  return place.shape.size() >= 3 && place.shape.size() <= 5 && place.shape[1] > 1 &&
         place.strides == contiguous_strides(place.shape);
}

}  // namespace

std::optional<Kernel> turned_kernel(const RegionRequest& request, const Place& write, const std::string& name,
                                    int64_t width, const MakeEmitter& make) {
  if (!lies_in_planes(write) || write.dtype != DType::f32) return std::nullopt;
  std::optional<Tile> tile = tile_of(write, width);
  const Shape plane(write.shape.begin() + 2, write.shape.end());
  const int64_t pixels = element_count(plane);
  if (!tile || pixels < tile->pixels) return std::nullopt;
  for (const Place& read : request.reads)
    if (lies_in_planes(read) && element_count(read.shape) * 8 > element_count(write.shape))
      return std::nullopt;

  const int64_t samples = write.shape[0], slices = write.shape[1] / tile->channels(),
                pieces = divided_up(pixels, tile->pixels), blocks = samples * slices * pieces;
  std::unique_ptr<LoopEmitter> emitter = make();
  const char* type = emitter->index_type();
  const char* block = emitter->stages ? "gridDim.x - 1 - blockIdx.x" : "blockIdx.x";
  emitter->line(format("const {0} tile = static_cast<{0}>({1});", type, block));
  emitter->line(
      format("const int pack = static_cast<int>(threadIdx.x) % {0}, row = static_cast<int>(threadIdx.x) "
             "/ {0};",
             tile->packs));
  for (const char* each : {"tile", "pack", "row"}) emitter->scopes().introduce(each);
  emitter->line(format("__shared__ float turned[{}][{}];", tile->channels(), tile->pixels + 1));
  const Indices part = unflatten(Index::variable("tile", blocks), {samples, slices, pieces});
  const Index first_pixel = part[2] * tile->pixels, first_channel = part[1] * tile->channels();
  auto place_of = [&](const Index& channel, const Index& pixel) {
    Indices at = {part[0], channel};
    for (const Index& each : unflatten(pixel, plane)) at.push_back(each);
    return at;
  };

  emitter->scopes().open(format("#pragma unroll\nfor (int turn = 0; turn < {}; ++turn)", turns), {"turn"},
                         false);
  // Behind the last pixel it is that one again: what all pixels share is then read once.
  emitter->line(
      format("const {} within = {};", type, sum_text(first_pixel, format("turn * {} + row", tile->rows()))));
  const std::string last = std::to_string(pixels - 1);
  Index pixel = emitter->declare_index(
      "pixel", pixels % tile->pixels == 0 ? "within" : format("within < {0} ? within : {0}", last), pixels);
  const Index lane = emitter->open_pack(width);
  const Index channel = Index::variable("pack", tile->packs) * width + lane;
  const std::string value = emitter->value(write.value, place_of(first_channel + channel, pixel));
  emitter->line(format("turned[{}][turn * {} + row] = {};", channel.text(), tile->rows(), value));
  emitter->close_pack();
  emitter->close();

  emitter->line("__syncthreads();");
  emitter->scopes().open(
      format("#pragma unroll 8\nfor (int i = static_cast<int>(threadIdx.x); i < {}; i += {})",
             tile->channels() * tile->pixels, threads),
      {"i"}, true);
  emitter->line(format("const int c = i / {0}, r = i % {0};", tile->pixels));
  Index written = emitter->declare_index("pixel", sum_text(first_pixel, "r"), pixels);
  emitter->guard(format("{} < {}", written.text(), pixels));
  emitter->store(write, place_of(first_channel + Index::variable("c", tile->channels()), written),
                 "turned[c][r]");
  emitter->close();
  emitter->close();
  if (emitter->packed().empty()) return std::nullopt;

  Kernel kernel;
  kernel.name = name;
  kernel.threads = static_cast<int>(threads);
  kernel.blocks = std::to_string(blocks);
  kernel.body = emitter->scopes().take(2);
  kernel.used = emitter->used();
  kernel.packed = emitter->packed();
  kernel.width = width;
  kernel.scratch = emitter->scratch;
  return kernel;
}

}  // namespace stitch::code::loops
