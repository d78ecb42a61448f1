// Pools over one to three spatial dimensions.
#include <cmath>
#include <limits>

#include "base/machine/parallel.h"
#include "oracle/call.h"
#include "oracle/ops/conv.h"

namespace stitch::oracle {

namespace {

// The input coordinates of a window along one dimension: begin, begin + step, ... below end.
struct Span {
  int64_t begin, end, step;
  int64_t padded;  // the window's length including padding it covers
};
// spans[dim][output coordinate]
using Spans = std::array<std::vector<Span>, 3>;

Spans sliding(const Spatial& in, const Spatial& out, const Attributes& attributes, const Spatial& dilation) {
  Spatial kernel = spatial(attributes.integers("kernel"), 1),
          stride = spatial(attributes.integers("stride"), 1);
  Spatial padding = spatial(attributes.integers("padding"), 0);
  Spans spans;
  for (size_t d = 0; d < 3; ++d)
    for (int64_t i = 0; i < out[d]; ++i) {
      int64_t begin = i * stride[d] - padding[d], end = begin + (kernel[d] - 1) * dilation[d] + 1;
      // A window in ceil mode may extend past the padding; that part doesn't count.
      int64_t padded = std::min(end, in[d] + padding[d]) - begin;
      if (begin < 0) begin += (-begin + dilation[d] - 1) / dilation[d] * dilation[d];
      spans[d].push_back({begin, std::min(end, in[d]), dilation[d], padded});
    }
  return spans;
}

Spans adaptive(const Spatial& in, const Spatial& out) {
  Spans spans;
  for (size_t d = 0; d < 3; ++d)
    for (int64_t i = 0; i < out[d]; ++i) {
      int64_t begin = i * in[d] / out[d], end = ((i + 1) * in[d] + out[d] - 1) / out[d];
      spans[d].push_back({begin, end, 1, end - begin});
    }
  return spans;
}

// body(plane of x, spans of a window, result position) for every window of every channel.
template <class Body>
void for_each_window(const Call& call, const Spans& spans, const Body& body) {
  Spatial in = spatial_shape(call.in().shape()), out = spatial_shape(call.type().shape);
  int64_t planes = call.in().shape()[0] * call.in().shape()[1];
  parallel_for(planes * out[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t slice = begin; slice < end; ++slice) {
      int64_t z = slice % out[0], plane = slice / out[0];
      for (int64_t y = 0; y < out[1]; ++y)
        for (int64_t x = 0; x < out[2]; ++x)
          body(plane * volume(in), spans[0][static_cast<size_t>(z)], spans[1][static_cast<size_t>(y)],
               spans[2][static_cast<size_t>(x)], (slice * out[1] + y) * out[2] + x);
    }
  });
}

template <class T>
std::vector<Tensor> max_pool(const Call& call, const Spans& spans) {
  std::vector<Tensor> results;
  for (size_t i = 0; i < call.node.results.size(); ++i) results.push_back(call.result(i));
  Spatial in = spatial_shape(call.in().shape());
  const T* x = call.in().data<T>();
  T* y = results[0].writable<T>();
  int64_t* positions = results.size() > 1 ? results[1].writable<int64_t>() : nullptr;
  constexpr T lowest =
      std::is_same_v<T, double> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::min();
  for_each_window(call, spans,
                  [&](int64_t plane, const Span& dz, const Span& dy, const Span& dx, int64_t at) {
                    T best = lowest;
                    int64_t position = (dz.begin * in[1] + dy.begin) * in[2] + dx.begin;
                    for (int64_t i = dz.begin; i < dz.end; i += dz.step)
                      for (int64_t j = dy.begin; j < dy.end; j += dy.step)
                        for (int64_t k = dx.begin; k < dx.end; k += dx.step) {
                          int64_t here = (i * in[1] + j) * in[2] + k;
                          T value = x[plane + here];
                          // As PyTorch: the first of equals, but the last NaN.
                          if (value > best || value != value) {
                            best = value;
                            position = here;
                          }
                        }
                    y[at] = best;
                    if (positions) positions[at] = position;
                  });
  return results;
}

// divisor: 0 for the window's size, with or without padding.
Outcome avg_pool(const Call& call, const Spans& spans, int64_t divisor, bool count_padding) {
  Tensor out = call.result();
  Spatial in = spatial_shape(call.in().shape());
  const double* x = call.in().data<double>();
  double* y = out.writable<double>();
  for_each_window(
      call, spans, [&](int64_t plane, const Span& dz, const Span& dy, const Span& dx, int64_t at) {
        double sum = 0;
        for (int64_t i = dz.begin; i < dz.end; ++i)
          for (int64_t j = dy.begin; j < dy.end; ++j)
            for (int64_t k = dx.begin; k < dx.end; ++k) sum += x[plane + (i * in[1] + j) * in[2] + k];
        int64_t inside = (dz.end - dz.begin) * (dy.end - dy.begin) * (dx.end - dx.begin);
        int64_t count = divisor ? divisor : count_padding ? dz.padded * dy.padded * dx.padded : inside;
        bool empty = dz.begin >= dz.end || dy.begin >= dy.end || dx.begin >= dx.end;
        y[at] = empty ? 0 : sum / static_cast<double>(count);
      });
  return one(std::move(out));
}

Outcome max_pool_of(const Call& call, const Spans& spans) {
  return with_element(call.in().dtype(),
                      [&](auto element) { return max_pool<decltype(element)>(call, spans); });
}

Spatial in_size(const Call& call) { return spatial_shape(call.in().shape()); }
Spatial out_size(const Call& call) { return spatial_shape(call.type().shape); }

}  // namespace

Outcome evaluate_max_pool(const Call& call) {
  Spatial dilation = spatial(call.attributes().integers("dilation"), 1);
  return max_pool_of(call, sliding(in_size(call), out_size(call), call.attributes(), dilation));
}

Outcome evaluate_avg_pool(const Call& call) {
  return avg_pool(call, sliding(in_size(call), out_size(call), call.attributes(), {1, 1, 1}),
                  call.attributes().integer("divisor"), call.attributes().flag("count_padding"));
}

Outcome evaluate_adaptive_max_pool(const Call& call) {
  return max_pool_of(call, adaptive(in_size(call), out_size(call)));
}

Outcome evaluate_adaptive_avg_pool(const Call& call) {
  return avg_pool(call, adaptive(in_size(call), out_size(call)), 0, false);
}

}  // namespace stitch::oracle
