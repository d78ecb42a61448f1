#include "code/loops/loop.h"

#include <algorithm>

namespace stitch::code::loops {

namespace {

constexpr int64_t threads = 256, items = 4;

// A block's tile: some vectors of channels, and pixels enough for four vectors per thread.
struct Tile {
  int64_t vectors, width, pixels;
  int64_t channels() const { return vectors * width; }
  int64_t rows() const { return threads / vectors; }  // pixels per pass of the block
};

std::optional<Tile> tile_of(const Place& write, int64_t width) {
  constexpr int64_t most_channels = 64;
  const int64_t all = write.shape[1] / width;
  int64_t vectors = 1;
  while (2 * vectors * width <= most_channels && all % (2 * vectors) == 0) vectors *= 2;
  if (vectors * width < 16) return std::nullopt;
  return Tile{vectors, width, items * threads / vectors};
}

bool is_nchw(const Place& place) {
  return place.shape.size() >= 3 && place.shape.size() <= 5 && place.shape[1] > 1 &&
         place.strides == contiguous_strides(place.shape);
}

}  // namespace

std::optional<Kernel> transposed_kernel(const RegionRequest& request, const Place& write,
                                        const std::string& name, int64_t width, const MakeEmitter& make) {
  if (!is_nchw(write) || write.dtype != DType::f32) return std::nullopt;
  auto image_at = [&](const Graph& at) {
    const Shape& shape = at.type(write.value).shape;
    return Shape(shape.begin() + 2, shape.end());
  };
  if (request.context.varies(image_at)) return std::nullopt;
  std::optional<Tile> tile = tile_of(write, width);
  const Shape image(write.shape.begin() + 2, write.shape.end());
  const int64_t pixels = element_count(image);
  if (!tile || pixels < tile->pixels) return std::nullopt;
  for (const Place& read : request.reads)
    if (is_nchw(read) && request.decided_elements(read) * 8 > request.decided_elements(write))
      return std::nullopt;

  const int64_t samples = write.shape[0], slices = write.shape[1] / tile->channels(),
                pieces = divided_up(pixels, tile->pixels), blocks = samples * slices * pieces;
  std::unique_ptr<LoopEmitter> emitter = make();
  const Type type = emitter->index_type();
  const Expression thread = launch_index(int_type, "threadIdx.x"), item = named("item"), row = named("row");
  Expression block = named("blockIdx.x");
  if (emitter->stages) block = named("gridDim.x") - 1 - block;
  emitter->add(define_constant(type, "tile", static_cast_to(type, block)));
  emitter->add(define_constant(int_type, "index", thread % tile->vectors));
  emitter->add(define_constant(int_type, "row", thread / tile->vectors));
  for (const char* each : {"tile", "index", "row"}) emitter->scopes().introduce(each);
  emitter->add(define_shared({"float", 4}, "transposed", {tile->channels(), tile->pixels + 1}));
  const Indices part = unflatten(Index::variable("tile", blocks), {samples, slices, pieces});
  const Index first_pixel = part[2] * tile->pixels, first_channel = part[1] * tile->channels();
  auto place_of = [&](const Index& channel, const Index& pixel) {
    Indices at = {part[0], channel};
    for (const Index& each : unflatten(pixel, image)) at.push_back(each);
    return at;
  };

  emitter->scopes().open({For{int_type, "item", 0, items, 1, For::whole}}, {"item"}, false);
  // Past the last pixel it is clamped to it: shared values are then read once.
  const Expression within = named("within");
  emitter->add(define_constant(type, "within", sum_of(first_pixel, item * tile->rows()) + row));
  Index pixel = emitter->declare_index(
      "pixel", pixels % tile->pixels == 0 ? within : select(within < pixels - 1, within, pixels - 1), pixels);
  const Index lane = emitter->open_vector(width);
  const Index channel = Index::variable("index", tile->vectors) * width + lane;
  const Expression value = emitter->value(write.value, place_of(first_channel + channel, pixel));
  emitter->add(assign(element(element("transposed", channel), item * tile->rows() + row), value));
  emitter->close_vector();
  emitter->close();

  emitter->add({Barrier{}});
  emitter->scopes().open({For{int_type, "i", thread, tile->channels() * tile->pixels, threads, 8}}, {"i"},
                         true);
  emitter->add(define_constant(int_type, "c", named("i") / tile->pixels));
  emitter->add(define_constant(int_type, "r", named("i") % tile->pixels));
  Index written = emitter->declare_index("pixel", sum_of(first_pixel, named("r")), pixels);
  emitter->guard(written < pixels);
  emitter->store(write, place_of(first_channel + Index::variable("c", tile->channels()), written),
                 element(element("transposed", named("c")), named("r")));
  emitter->close();
  emitter->close();
  if (emitter->vectorised().empty()) return std::nullopt;

  Kernel kernel = kernel_of(*emitter, name, static_cast<int>(threads), {blocks});
  kernel.width = width;
  kernel.scratch = emitter->scratch;
  return kernel;
}

}  // namespace stitch::code::loops
