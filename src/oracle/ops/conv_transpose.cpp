// Transposed convolution: a matrix product into columns, which are added into the image (col2im). Output
// channels are independent, so work is split by image and channels.
#include <algorithm>

#include "base/machine/parallel.h"
#include "oracle/blas.h"
#include "oracle/call.h"
#include "oracle/ops/conv.h"

namespace stitch::oracle {

namespace {

// Adds columns (taps, last - first) of one channel into its image; plane positions are [first, last).
void add_columns(const Geometry& g, const double* columns, int64_t first, int64_t last, double* image) {
  int64_t width = g.plane[2], run = last - first;
  for (int64_t tap = 0; tap < volume(g.filter); ++tap) {
    const double* row = columns + tap * run;
    int64_t tx = tap % g.filter[2], ty = tap / g.filter[2] % g.filter[1],
            tz = tap / (g.filter[2] * g.filter[1]);
    Valid vx = valid_positions(g, 2, tx), vy = valid_positions(g, 1, ty), vz = valid_positions(g, 0, tz);
    for (int64_t at = first; at < last;) {
      int64_t x = at % width, y = at / width % g.plane[1], z = at / width / g.plane[1];
      int64_t end = std::min(width, x + last - at);
      const double* from = row + (at - first) - x;
      at += end - x;
      if (y < vy.begin || y >= vy.end || z < vz.begin || z >= vz.end) continue;
      double* line =
          image + ((z * g.stride[0] + vz.shift) * g.image[1] + y * g.stride[1] + vy.shift) * g.image[2];
      for (int64_t i = std::max(x, vx.begin); i < std::min(end, vx.end); ++i)
        line[i * g.stride[2] + vx.shift] += from[i];
    }
  }
}

}  // namespace

Outcome evaluate_conv_transpose(const Call& call) {
  const Tensor &x = call.in(0), &weight = call.in(1);
  if (!x.floating()) return user_error("unsupported", "a transposed convolution of integers");
  Tensor out = call.result();
  fill_planes(out, call.numbers(2));
  Geometry g = conv_geometry(out.shape(), weight.shape(), x.shape(), call.attributes());
  int64_t groups = call.attributes().integer("groups"), samples = x.shape()[0];
  int64_t channels = x.shape()[1] / groups, filters = weight.shape()[1];  // per group
  int64_t taps = volume(g.filter), plane = volume(g.plane), image = volume(g.image);
  if (out.elements() == 0 || x.elements() == 0 || weight.elements() == 0) return one(std::move(out));
  const double *in = x.data<double>(), *filter = weight.data<double>();
  double* y = out.writable<double>();

  int64_t room = workspace_elements();
  int64_t run = std::clamp<int64_t>(room / taps, 1, plane);             // plane positions at a time
  int64_t some = std::clamp<int64_t>(room / (taps * run), 1, filters);  // output channels at a time
  int64_t per_core = (filters + core_count() - 1) / core_count();
  if (samples * groups < core_count()) some = std::min(some, per_core);
  int64_t parts = (filters + some - 1) / some;
  OneThread one_thread;
  parallel_for(samples * groups * parts, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> columns(static_cast<size_t>(some * taps * run));
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t n_group = piece / parts, group = n_group % groups, first_filter = piece % parts * some;
      int64_t count = std::min(some, filters - first_filter);
      for (int64_t first = 0; first < plane; first += run) {
        int64_t last = std::min(plane, first + run);
        Gemm shape{.m = count * taps, .n = last - first, .k = channels, .transpose_a = true};
        shape.stride_a = filters * taps;
        shape.stride_b = plane;
        shape.stride_c = last - first;
        gemm(shape, filter + (group * channels * filters + first_filter) * taps,
             in + n_group * channels * plane + first, columns.data());
        for (int64_t f = 0; f < count; ++f)
          add_columns(g, columns.data() + f * taps * (last - first), first, last,
                      y + (n_group * filters + first_filter + f) * image);
      }
    }
  });
  return one(std::move(out));
}

}  // namespace stitch::oracle
