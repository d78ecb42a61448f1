// Convolution by im2col and a matrix product. Work is split by image, group and range of output positions, so
// that the columns stay small; 1x1 filters multiply the image itself, depthwise ones are plain loops.
#include "oracle/ops/conv.h"

#include <algorithm>

#include "base/machine/parallel.h"
#include "oracle/blas.h"
#include "oracle/call.h"

namespace stitch::oracle {

Geometry conv_geometry(const Shape& image, const Shape& filter, const Shape& plane,
                       const Attributes& attributes) {
  return {spatial_shape(image),
          spatial_shape(filter),
          spatial_shape(plane),
          spatial(attributes.integers("stride"), 1),
          spatial(attributes.integers("padding"), 0),
          spatial(attributes.integers("dilation"), 1)};
}

Valid valid_positions(const Geometry& g, size_t dim, int64_t tap) {
  // image coordinate = position * stride + shift must lie in [0, image)
  int64_t shift = tap * g.dilation[dim] - g.padding[dim], stride = g.stride[dim];
  int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  int64_t room = g.image[dim] - shift;
  int64_t end = room <= 0 ? 0 : (room + stride - 1) / stride;
  end = std::min(end, g.plane[dim]);
  return {std::min(begin, end), end, shift};
}

namespace {

// columns (channels * taps, last - first): the image under each tap for output positions [first, last).
void gather_columns(const Geometry& g, const double* image, int64_t channels, int64_t first, int64_t last,
                    double* columns) {
  int64_t width = g.plane[2], run = last - first;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t tap = 0; tap < volume(g.filter); ++tap) {
      const double* from = image + c * volume(g.image);
      double* row = columns + (c * volume(g.filter) + tap) * run;
      int64_t tx = tap % g.filter[2], ty = tap / g.filter[2] % g.filter[1],
              tz = tap / (g.filter[2] * g.filter[1]);
      Valid vx = valid_positions(g, 2, tx), vy = valid_positions(g, 1, ty), vz = valid_positions(g, 0, tz);
      for (int64_t at = first; at < last;) {
        int64_t x = at % width, y = at / width % g.plane[1], z = at / width / g.plane[1];
        int64_t end = std::min(width, x + last - at);  // of this line
        double* to = row + (at - first) - x;
        at += end - x;
        if (y < vy.begin || y >= vy.end || z < vz.begin || z >= vz.end) {
          std::fill(to + x, to + end, 0.0);
          continue;
        }
        const double* line =
            from + ((z * g.stride[0] + vz.shift) * g.image[1] + y * g.stride[1] + vy.shift) * g.image[2];
        int64_t begin = std::clamp(vx.begin, x, end), stop = std::clamp(vx.end, begin, end);
        std::fill(to + x, to + begin, 0.0);
        if (g.stride[2] == 1)
          std::copy(line + begin + vx.shift, line + stop + vx.shift, to + begin);
        else
          for (int64_t i = begin; i < stop; ++i) to[i] = line[i * g.stride[2] + vx.shift];
        std::fill(to + stop, to + end, 0.0);
      }
    }
}

// One input channel, one filter: every tap adds its shifted image.
void depthwise(const Geometry& g, const double* image, const double* filter, double* plane) {
  for (int64_t tap = 0; tap < volume(g.filter); ++tap) {
    int64_t tx = tap % g.filter[2], ty = tap / g.filter[2] % g.filter[1],
            tz = tap / (g.filter[2] * g.filter[1]);
    Valid vx = valid_positions(g, 2, tx), vy = valid_positions(g, 1, ty), vz = valid_positions(g, 0, tz);
    double weight = filter[tap];
    for (int64_t z = vz.begin; z < vz.end; ++z)
      for (int64_t y = vy.begin; y < vy.end; ++y) {
        const double* line =
            image + ((z * g.stride[0] + vz.shift) * g.image[1] + y * g.stride[1] + vy.shift) * g.image[2];
        double* to = plane + (z * g.plane[1] + y) * g.plane[2];
        for (int64_t x = vx.begin; x < vx.end; ++x) to[x] += weight * line[x * g.stride[2] + vx.shift];
      }
  }
}

}  // namespace

void fill_planes(Tensor& out, const double* bias) {
  int64_t channels = out.shape()[1], plane = volume(spatial_shape(out.shape()));
  double* y = out.writable<double>();
  parallel_for(out.shape()[0] * channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) std::fill_n(y + p * plane, plane, bias ? bias[p % channels] : 0.0);
  });
}

Outcome evaluate_conv(const Call& call) {
  const Tensor &x = call.in(0), &weight = call.in(1);
  if (!x.floating()) return user_error("unsupported", "a convolution of integers");
  Tensor out = call.result();
  fill_planes(out, call.numbers(2));
  Geometry g = conv_geometry(x.shape(), weight.shape(), out.shape(), call.attributes());
  int64_t groups = call.attributes().integer("groups"), samples = x.shape()[0];
  int64_t channels = x.shape()[1] / groups, filters = weight.shape()[0] / groups;  // per group
  int64_t image = volume(g.image), plane = volume(g.plane), depth = channels * volume(g.filter);
  if (out.elements() == 0 || depth == 0) return one(std::move(out));
  const double *in = x.data<double>(), *filter = weight.data<double>();
  double* y = out.writable<double>();

  if (channels == 1 && groups > 1) {
    parallel_for(samples * groups * filters, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        int64_t n = p / (groups * filters), o = p % (groups * filters);
        depthwise(g, in + (n * groups + o / filters) * image, filter + o * depth, y + p * plane);
      }
    });
    return one(std::move(out));
  }

  bool direct = volume(g.filter) == 1 && volume(g.stride) == 1 && g.padding == Spatial{0, 0, 0};
  int64_t run = std::clamp<int64_t>(workspace_elements() / depth, 1, plane);
  // Enough pieces for every core, but not so narrow that the product becomes slow.
  constexpr int64_t narrow = 96;
  int64_t shares = (4 * thread_count() + samples * groups - 1) / (samples * groups);
  run = std::min(run, std::max((plane + shares - 1) / shares, std::min(narrow, plane)));
  int64_t runs = (plane + run - 1) / run, pieces = samples * groups * runs;
  run = (plane + runs - 1) / runs;  // evenly sized
  auto compute = [&](int64_t begin, int64_t end) {
    std::vector<double> columns(direct ? 0 : static_cast<size_t>(depth * run));
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t first = piece % runs * run, last = std::min(plane, first + run);
      if (first >= last) continue;
      int64_t group = piece / runs % groups, n = piece / runs / groups;
      const double* from = in + (n * groups + group) * channels * image;
      if (!direct) gather_columns(g, from, channels, first, last, columns.data());
      Gemm shape{.m = filters, .n = last - first, .k = depth, .beta = 1};
      shape.stride_a = depth;
      shape.stride_b = direct ? image : last - first;
      shape.stride_c = plane;
      gemm(shape, filter + group * filters * depth, direct ? from + first : columns.data(),
           y + (n * groups + group) * filters * plane + first);
    }
  };
  // Too few pieces: each product uses all cores instead.
  if (pieces < core_count()) {
    compute(0, pieces);
  } else {
    OneThread one_thread;
    parallel_for(pieces, 1, compute);
  }
  return one(std::move(out));
}

}  // namespace stitch::oracle
