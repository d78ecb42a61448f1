// Images read between their pixels: grid_sample, affine_grid, RoI align, deformable and antialiased resizing.
// Each tap is a gather; weights and bounds are pointwise.
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"
#include "import/aten/emit.h"

namespace stitch {

namespace sampling {

namespace {

ValueId clamped(Call& call, ValueId x, double low, double high) {
  return call.emit(Op::clamp, {x}, {{"low", low}, {"high", high}});
}
ValueId count_as(Call& call, int64_t size, const Shape& shape) {
  return call.reshape(call.emit(Op::iota, {}, {{"size", size}, {"dtype", DType::i64}}), shape);
}
// Element i of the last dimension.
ValueId component(Call& call, ValueId x, int64_t i) {
  Shape shape = call.shape(x);
  shape.pop_back();
  return call.reshape(call.slice(x, call.rank(x) - 1, i, i + 1), shape);
}

enum class Padding : uint8_t { zeros, border, reflection };
enum class Mode : uint8_t { linear, nearest, cubic };

// Mirrored at low/2 and high/2 until it is between them.
ValueId reflected(Call& call, ValueId x, double twice_low, double twice_high) {
  if (twice_low == twice_high) return mul(call, x, constant(call, x, 0));
  double low = twice_low / 2, span = (twice_high - twice_low) / 2;
  ValueId from = call.emit(Op::abs, {sub(call, x, constant(call, x, low))}), width = constant(call, x, span);
  ValueId extra = call.emit(Op::fmod, {from, width});
  ValueId flips = call.emit(Op::floor, {call.emit(Op::div, {from, width})});
  ValueId odd = call.emit(Op::ne, {call.emit(Op::fmod, {flips, constant(call, x, 2)}), constant(call, x, 0)});
  return add(call, call.emit(Op::where, {odd, sub(call, width, extra), extra}), constant(call, x, low));
}

// Where a pixel coordinate is read, by the padding; zeros are left to the taps.
ValueId bounded(Call& call, ValueId x, int64_t size, Padding padding, bool corners) {
  double last = static_cast<double>(size - 1);
  if (padding == Padding::zeros) return x;
  if (padding == Padding::reflection)
    x = corners ? reflected(call, x, 0, 2 * last) : reflected(call, x, -1, 2 * last + 1);
  return clamped(call, x, 0, last);
}

// One tap: coordinates (whole, still floating) and a weight, both of the shape of the result's places.
struct Tap {
  Values at;  // a coordinate a dimension
  ValueId weight;
};

// Images (N, C, spatial…) at places (N, places…): the sum over taps, (N, C, places…). Taps outside are 0.
class Reader {
 public:
  Reader(Call& call, ValueId images, const Shape& places) : call_(call), images_(images), places_(places) {
    Shape shape(places.size(), 1);
    shape[0] = places[0];
    numbers_ = count_as(call, places[0], shape);
  }
  // Which image each place reads, in place of its own number.
  void read_images(ValueId numbers) { numbers_ = numbers; }

  void tap(const Tap& tap) {
    const Shape& shape = call_.shape(images_);
    Values operands = {images_, numbers_};
    std::vector<int64_t> dims = {0};
    ValueId inside = ValueId::none;
    for (size_t d = 0; d < tap.at.size(); ++d) {
      double last = static_cast<double>(shape[d + 2] - 1);
      ValueId x = tap.at[d];
      ValueId in = call_.emit(Op::logical_and, {call_.emit(Op::ge, {x, constant(call_, x, 0)}),
                                                call_.emit(Op::le, {x, constant(call_, x, last)})});
      inside = d ? call_.emit(Op::logical_and, {inside, in}) : in;
      operands.push_back(call_.cast(clamped(call_, x, 0, last), DType::i64));
      dims.push_back(static_cast<int64_t>(d) + 2);
    }
    // (places…, C): the indexed dimensions come first, since the channels stand between them.
    ValueId pixels = call_.emit(Op::index, operands, {{"dims", dims}});
    ValueId weight = call_.emit(Op::where, {inside, tap.weight, constant(call_, tap.weight, 0)});
    Shape column = call_.shape(weight);
    column.push_back(1);
    // A pixel outside counts as 0 even if the one read in its place is infinite.
    ValueId seen = call_.emit(Op::where, {call_.reshape(inside, column), pixels, constant(call_, pixels, 0)});
    ValueId term = mul(call_, seen, call_.reshape(weight, column));
    sum_ = sum_ == ValueId::none ? term : add(call_, sum_, term);
  }

  ValueId result() const {
    int64_t rank = std::ssize(places_) + 1;
    std::vector<int64_t> dims = {0, rank - 1};
    for (int64_t d = 1; d + 1 < rank; ++d) dims.push_back(d);
    return call_.permute(sum_, dims);
  }
  ValueId channels_last() const { return sum_; }

 private:
  Call& call_;
  ValueId images_, numbers_, sum_ = ValueId::none;
  Shape places_;
};

// Every corner around the coordinates, weighted by the distance from the one opposite.
std::vector<Tap> linear_taps(Call& call, const Values& at) {
  std::vector<Tap> taps = {{{}, ValueId::none}};
  for (ValueId x : at) {
    ValueId low = call.emit(Op::floor, {x}), high = add(call, low, constant(call, x, 1));
    ValueId share = sub(call, x, low), rest = sub(call, high, x);
    std::vector<Tap> next;
    for (const Tap& tap : taps)
      for (bool upper : {false, true}) {
        Tap each = tap;
        each.at.push_back(upper ? high : low);
        ValueId weight = upper ? share : rest;
        each.weight = tap.weight == ValueId::none ? weight : mul(call, tap.weight, weight);
        next.push_back(each);
      }
    taps = std::move(next);
  }
  return taps;
}

// Keys' kernel at a distance, by its polynomial within 1 or between 1 and 2.
ValueId cubic(Call& call, ValueId distance, bool within, double a) {
  auto c = [&](double value) { return constant(call, distance, value); };
  ValueId x = distance;
  if (within) return add(call, mul(call, mul(call, sub(call, mul(call, x, c(a + 2)), c(a + 3)), x), x), c(1));
  ValueId y = add(call, mul(call, sub(call, mul(call, x, c(a)), c(5 * a)), x), c(8 * a));
  return sub(call, mul(call, y, x), c(4 * a));
}

std::vector<Tap> cubic_taps(Call& call, const Values& at, const std::vector<int64_t>& sizes, Padding padding,
                            bool corners) {
  std::vector<Tap> taps = {{{}, ValueId::none}};
  for (size_t d = 0; d < at.size(); ++d) {
    ValueId x = at[d], low = call.emit(Op::floor, {x}), share = sub(call, x, low), one = constant(call, x, 1);
    ValueId rest = sub(call, one, share);
    ValueId weights[] = {cubic(call, add(call, share, one), false, -0.75), cubic(call, share, true, -0.75),
                         cubic(call, rest, true, -0.75), cubic(call, add(call, rest, one), false, -0.75)};
    std::vector<Tap> next;
    for (const Tap& tap : taps)
      for (int k = 0; k < 4; ++k) {
        Tap each = tap;
        each.at.push_back(
            bounded(call, add(call, low, constant(call, x, k - 1)), sizes[d], padding, corners));
        each.weight = tap.weight == ValueId::none ? weights[k] : mul(call, tap.weight, weights[k]);
        next.push_back(each);
      }
    taps = std::move(next);
  }
  return taps;
}

// x (N, C, spatial…), grid (N, places…, dims) from -1 to 1, the last spatial dimension first.
ValueId grid_sample(Call& call) {
  ValueId x = call.tensor("input"), grid = call.cast(call.tensor("grid"), call.type(x).dtype);
  Mode mode = static_cast<Mode>(call.integer("interpolation_mode"));
  Padding padding = static_cast<Padding>(call.integer("padding_mode"));
  bool corners = call.flag("align_corners");
  int64_t dims = call.rank(x) - 2;
  Values at;
  std::vector<int64_t> sizes(call.shape(x).begin() + 2, call.shape(x).end());
  for (int64_t d = 0; d < dims; ++d) {
    ValueId g = component(call, grid, dims - 1 - d);
    double size = static_cast<double>(sizes[static_cast<size_t>(d)]), last = size - 1;
    ValueId raised = add(call, g, constant(call, g, 1));
    ValueId pixel =
        corners ? mul(call, raised, constant(call, g, last / 2))
                : mul(call, sub(call, mul(call, raised, constant(call, g, size)), constant(call, g, 1)),
                      constant(call, g, 0.5));
    if (mode != Mode::cubic) pixel = bounded(call, pixel, sizes[static_cast<size_t>(d)], padding, corners);
    at.push_back(mode == Mode::nearest ? call.emit(Op::round, {pixel}) : pixel);
  }
  Reader reader(call, x, call.shape(at[0]));
  if (mode == Mode::nearest)
    reader.tap({at, call.full(call.shape(at[0]), call.type(x).dtype, 1)});
  else
    for (const Tap& tap :
         mode == Mode::cubic ? cubic_taps(call, at, sizes, padding, corners) : linear_taps(call, at))
      reader.tap(tap);
  return reader.result();
}

// theta (N, d, d + 1): the positions of an image's pixels under it.
ValueId affine_grid(Call& call) {
  ValueId theta = call.tensor("theta");
  DType dtype = call.type(theta).dtype;
  bool corners = call.flag("align_corners");
  std::vector<int64_t> size = call.integers("size");
  Shape spatial(size.begin() + 2, size.end());
  int64_t pixels = element_count(spatial), dims = std::ssize(spatial);
  Values columns;
  for (int64_t d = dims; d-- > 0;) {
    int64_t n = spatial[static_cast<size_t>(d)];
    double step = n > 1 ? 2.0 / static_cast<double>(n - 1) : 0,
           shrink = corners || n == 0 ? 1 : static_cast<double>(n - 1) / static_cast<double>(n);
    double start = n > 1 ? -shrink : 0;
    ValueId axis =
        call.emit(Op::iota, {}, {{"size", n}, {"dtype", dtype}, {"start", start}, {"step", step * shrink}});
    Shape shape(spatial.size(), 1);
    shape[static_cast<size_t>(d)] = n;
    columns.push_back(call.reshape(call.expand(call.reshape(axis, shape), spatial), {pixels, 1}));
  }
  columns.push_back(call.full({pixels, 1}, dtype, 1));
  ValueId base = call.emit(Op::concat, columns, {{"dim", int64_t{1}}});
  return call.reshape(call.emit(Op::matmul, {base, call.swap_last(theta)}), call.output().shape);
}

// rois (K, 5): image, x1, y1, x2, y2. The mean of a fixed number of samples in every bin.
ValueId roi_align(Call& call) {
  ValueId x = call.tensor("input"), rois = call.tensor("rois");
  int64_t rows = call.integer("pooled_height"), columns = call.integer("pooled_width"),
          ratio = call.integer("sampling_ratio"), boxes = call.shape(rois)[0];
  if (ratio <= 0)
    refuse("RoI align with a sampling_ratio of -1 takes a number of samples that depends on data",
           "give a fixed one: sampling_ratio=2 is what torchvision's detectors use");
  double scale = call.number("spatial_scale"), offset = call.flag("aligned") ? 0.5 : 0;
  auto corner = [&](int64_t i) {
    ValueId c = component(call, rois, i);
    return sub(call, mul(call, c, constant(call, c, scale)), constant(call, c, offset));
  };
  // The samples along one dimension: (K, bins * ratio).
  auto samples = [&](int64_t first, int64_t second, int64_t bins) {
    ValueId start = corner(first), extent = sub(call, corner(second), start);
    if (offset == 0) extent = call.emit(Op::maximum, {extent, constant(call, extent, 1)});
    ValueId bin = call.emit(Op::div, {extent, constant(call, extent, static_cast<double>(bins))});
    double step = 1 / static_cast<double>(ratio);
    ValueId inside = call.emit(
        Op::iota, {},
        {{"size", bins * ratio}, {"dtype", call.type(x).dtype}, {"start", step / 2}, {"step", step}});
    return add(call, call.reshape(start, {boxes, 1}), mul(call, call.reshape(bin, {boxes, 1}), inside));
  };
  int64_t tall = rows * ratio, wide = columns * ratio;
  Shape places = {boxes, tall, wide};
  ValueId images = call.reshape(call.cast(component(call, rois, 0), DType::i64), {boxes, 1, 1});
  Values at = {call.expand(call.reshape(samples(2, 4, rows), {boxes, tall, 1}), places),
               call.expand(call.reshape(samples(1, 3, columns), {boxes, 1, wide}), places)};
  // Up to one pixel outside counts as the edge, everything further as 0.
  ValueId inside = ValueId::none;
  for (size_t d = 0; d < 2; ++d) {
    double size = static_cast<double>(call.shape(x)[d + 2]);
    ValueId in = call.emit(Op::logical_and, {call.emit(Op::ge, {at[d], constant(call, at[d], -1)}),
                                             call.emit(Op::le, {at[d], constant(call, at[d], size)})});
    inside = d ? call.emit(Op::logical_and, {inside, in}) : in;
    at[d] = clamped(call, at[d], 0, size - 1);
  }
  Reader reader(call, x, places);
  reader.read_images(images);
  for (const Tap& tap : linear_taps(call, at))
    reader.tap({tap.at, call.emit(Op::where, {inside, tap.weight, constant(call, tap.weight, 0)})});
  int64_t channels = call.shape(x)[1];
  ValueId apart = call.reshape(reader.result(), {boxes, channels, rows, ratio, columns, ratio});
  return call.reduce(Op::mean, apart, {3, 5});
}

// x (N, C, H, W); offset (N, 2 G kh kw, oh, ow): every tap of the kernel is read where its offset says.
ValueId deform_conv(Call& call) {
  ValueId x = call.tensor("input"), weight = call.tensor("weight"), offset = call.tensor("offset");
  int64_t groups = call.integer("groups"), shifts = call.integer("offset_groups");
  const Shape in = call.shape(x), kernel = call.shape(weight), out = call.output().shape;
  int64_t batch = in[0], channels = in[1], each = channels / shifts, area = kernel[2] * kernel[3],
          rows = out[2], columns = out[3];
  DType dtype = call.type(x).dtype;
  // One image a group of offsets, one place a tap and pixel.
  ValueId images = call.reshape(x, {batch * shifts, each, in[2], in[3]});
  Shape places = {batch * shifts, area, rows, columns};
  offset = call.reshape(offset, {batch * shifts, area, 2, rows, columns});
  auto axis = [&](int64_t which, const char* stride, const char* pad, const char* dilation) {
    bool vertical = which == 0;
    int64_t n = vertical ? rows : columns;
    ValueId pixel = call.emit(Op::iota, {},
                              {{"size", n},
                               {"dtype", dtype},
                               {"start", -static_cast<double>(call.integer(pad))},
                               {"step", static_cast<double>(call.integer(stride))}});
    ValueId tap = call.emit(Op::iota, {},
                            {{"size", vertical ? kernel[2] : kernel[3]},
                             {"dtype", dtype},
                             {"step", static_cast<double>(call.integer(dilation))}});
    tap = call.expand(call.reshape(tap, vertical ? Shape{kernel[2], 1} : Shape{1, kernel[3]}),
                      {kernel[2], kernel[3]});
    ValueId grid =
        add(call, call.reshape(tap, {area, 1, 1}), call.reshape(pixel, vertical ? Shape{n, 1} : Shape{1, n}));
    ValueId moved = call.reshape(call.slice(offset, 2, which, which + 1), places);
    return call.expand(add(call, moved, grid), places);
  };
  Values at = {axis(0, "stride_h", "pad_h", "dilation_h"), axis(1, "stride_w", "pad_w", "dilation_w")};
  Reader reader(call, images, places);
  for (const Tap& tap : linear_taps(call, at)) reader.tap(tap);
  ValueId seen = reader.channels_last();  // (N G, area, rows, columns, each)
  if (call.flag("use_mask"))
    seen = mul(call, seen, call.reshape(call.tensor("mask"), {batch * shifts, area, rows, columns, 1}));
  // (N, C, area, pixels), a product a group of channels.
  seen = call.reshape(call.permute(seen, {0, 4, 1, 2, 3}),
                      {batch, groups, channels / groups * area, rows * columns});
  weight = call.reshape(weight, {groups, kernel[0] / groups, kernel[1] * area});
  ValueId y = call.reshape(call.emit(Op::matmul, {weight, seen}), out);
  ValueId bias = call.tensor("bias");
  return add(call, y, call.reshape(bias, {kernel[0], 1, 1}));
}

// (out, in): how much of each pixel is in each result, as Pillow resizes.
ValueId antialias_weights(Call& call, int64_t in, int64_t out, double asked, bool corners,
                          bool cubic_kernel) {
  double scale = corners     ? (out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0)
                 : asked > 0 ? 1 / asked
                             : static_cast<double>(in) / static_cast<double>(out);
  double reach = (cubic_kernel ? 2 : 1) * std::max(scale, 1.0), inverse = scale >= 1 ? 1 / scale : 1;
  DType f64 = DType::f64;
  ValueId centre =
      call.emit(Op::iota, {}, {{"size", out}, {"dtype", f64}, {"start", 0.5 * scale}, {"step", scale}});
  centre = call.reshape(centre, {out, 1});
  ValueId pixel = call.reshape(call.emit(Op::iota, {}, {{"size", in}, {"dtype", f64}}), {1, in});
  auto edge = [&](double by) {
    return call.emit(Op::trunc, {add(call, centre, call.scalar(f64, by + 0.5))});
  };
  ValueId inside = call.emit(
      Op::logical_and, {call.emit(Op::ge, {pixel, edge(-reach)}), call.emit(Op::lt, {pixel, edge(reach)})});
  ValueId distance = call.emit(Op::abs, {mul(call, add(call, sub(call, pixel, centre), call.scalar(f64, 0.5)),
                                             call.scalar(f64, inverse))});
  ValueId zero = call.scalar(f64, 0), one = call.scalar(f64, 1), near = call.emit(Op::lt, {distance, one}),
          weight;
  if (cubic_kernel)
    weight = call.emit(Op::where, {near, cubic(call, distance, true, -0.5),
                                   call.emit(Op::where, {call.emit(Op::lt, {distance, call.scalar(f64, 2)}),
                                                         cubic(call, distance, false, -0.5), zero})});
  else
    weight = call.emit(Op::where, {near, sub(call, one, distance), zero});
  weight = call.emit(Op::where, {inside, weight, zero});
  ValueId total = call.reduce(Op::sum, weight, {1}, true);
  return call.emit(Op::div, {weight, call.emit(Op::where, {call.emit(Op::eq, {total, zero}), one, total})});
}

ComputeOne antialiased(bool cubic_kernel) {
  return [=](Call& call) {
    ValueId x = call.tensor(call.has("input") ? "input" : "self");
    DType dtype = call.type(x).dtype;
    const Shape in = call.shape(x), out = call.output().shape;
    std::vector<double> scales;
    if (!call.has("output_size") || call.integers("output_size").empty())
      scales = call.numbers("scale_factors");
    for (const char* name : {"scales_h", "scales_w"})
      if (call.has(name)) scales.push_back(call.number(name));
    if (scales.size() != 2) scales = {0, 0};
    bool corners = call.flag("align_corners", false);
    auto weights = [&](size_t d) {
      return call.cast(antialias_weights(call, in[d + 2], out[d + 2], scales[d], corners, cubic_kernel),
                       dtype);
    };
    ValueId y = call.emit(Op::matmul, {x, call.swap_last(weights(1))});
    return call.emit(Op::matmul, {weights(0), y});
  };
}

}  // namespace

void fill(AtenTable& table) {
  for (const char* name : {"grid_sampler", "grid_sampler_2d", "grid_sampler_3d"})
    table.one(format("aten.{}.default", name), grid_sample);
  table.one("aten.affine_grid_generator.default", affine_grid);
  table.one("torchvision.roi_align.default", roi_align);
  table.one("torchvision.deform_conv2d.default", deform_conv);
  table.nothing("torchvision._cuda_version.default");
  for (const char* overload : {"default", "vec"}) {
    table.one(format("aten._upsample_bilinear2d_aa.{}", overload), antialiased(false));
    table.one(format("aten._upsample_bicubic2d_aa.{}", overload), antialiased(true));
  }
}

}  // namespace sampling

void add_sampling(AtenTable& table) { sampling::fill(table); }

}  // namespace stitch
