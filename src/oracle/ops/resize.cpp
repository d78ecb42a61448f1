// Interpolation, one spatial dimension after the other; each result is a weighted sum of a few neighbours.
#include <cmath>

#include "base/machine/parallel.h"
#include "oracle/call.h"

namespace stitch::oracle {

namespace {

struct Tap {
  int64_t from;
  double weight;
};
// taps[i]: the neighbours of result coordinate i.
using Taps = std::vector<std::vector<Tap>>;

struct Axis {
  int64_t in, out;
  double scale;  // as given, or 0: follows from the sizes
};

// In float, as in PyTorch for every dtype: results on the edge depend on the rounding.
Taps nearest(const Axis& axis, bool exact) {
  float step = axis.scale > 0 ? static_cast<float>(1 / axis.scale)
                              : static_cast<float>(axis.in) / static_cast<float>(axis.out);
  Taps taps;
  for (int64_t i = 0; i < axis.out; ++i) {
    float position = exact ? (static_cast<float>(i) + 0.5f) * step : static_cast<float>(i) * step;
    taps.push_back({{std::min(static_cast<int64_t>(std::floor(position)), axis.in - 1), 1.0}});
  }
  return taps;
}

double source_position(const Axis& axis, int64_t i, bool align_corners) {
  if (align_corners)
    return axis.out > 1
               ? static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) * static_cast<double>(i)
               : 0;
  double step =
      axis.scale > 0 ? 1 / axis.scale : static_cast<double>(axis.in) / static_cast<double>(axis.out);
  return step * (static_cast<double>(i) + 0.5) - 0.5;
}

Taps linear(const Axis& axis, bool align_corners) {
  Taps taps;
  for (int64_t i = 0; i < axis.out; ++i) {
    double position =
        axis.in == axis.out ? static_cast<double>(i) : std::max(source_position(axis, i, align_corners), 0.0);
    int64_t left = std::min(static_cast<int64_t>(position), axis.in - 1);
    int64_t right = std::min(left + 1, axis.in - 1);
    double share = std::clamp(position - static_cast<double>(left), 0.0, 1.0);
    taps.push_back({{left, 1 - share}, {right, share}});
  }
  return taps;
}

// Keys' kernel with A = -0.75.
double cubic_weight(double distance) {
  constexpr double a = -0.75;
  double x = std::fabs(distance);
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

Taps cubic(const Axis& axis, bool align_corners) {
  Taps taps;
  for (int64_t i = 0; i < axis.out; ++i) {
    double position = source_position(axis, i, align_corners);
    int64_t left = std::min(static_cast<int64_t>(std::floor(position)), axis.in - 1);
    double share = std::clamp(position - static_cast<double>(left), 0.0, 1.0);
    std::vector<Tap> four;
    for (int64_t k = -1; k <= 2; ++k)
      four.push_back(
          {std::clamp<int64_t>(left + k, 0, axis.in - 1), cubic_weight(share - static_cast<double>(k))});
    taps.push_back(std::move(four));
  }
  return taps;
}

// x seen as (outer, in, inner) becomes (outer, out, inner).
template <class T>
Tensor resample(const Tensor& x, size_t dim, const Taps& taps) {
  Shape shape = x.shape();
  int64_t in = shape[dim], out = std::ssize(taps);
  int64_t inner = element_count({shape.begin() + static_cast<int64_t>(dim) + 1, shape.end()});
  shape[dim] = out;
  Tensor result(x.dtype(), shape);
  const T* from = x.data<T>();
  T* to = result.writable<T>();
  parallel_for(inner ? result.elements() / inner : 0,
               std::max<int64_t>(1, 8192 / std::max<int64_t>(inner, 1)), [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const T* plane = from + row / out * in * inner;
                   const std::vector<Tap>& list = taps[static_cast<size_t>(row % out)];
                   T* line = to + row * inner;
                   // A single neighbour is copied, whatever its type.
                   if (list.size() == 1) {
                     std::copy_n(plane + list[0].from * inner, inner, line);
                     continue;
                   }
                   std::fill_n(line, inner, T{0});
                   for (const Tap& tap : list)
                     for (int64_t i = 0; i < inner; ++i)
                       line[i] +=
                           static_cast<T>(tap.weight * static_cast<double>(plane[tap.from * inner + i]));
                 }
               });
  return result;
}

}  // namespace

Outcome evaluate_resize(const Call& call) {
  const Attributes& attributes = call.attributes();
  const std::string& mode = attributes.text("mode");
  const auto& scales = attributes.numbers("scales");
  bool align_corners = attributes.flag("align_corners"), floating = call.in().floating();
  if (!floating && (mode == "linear" || mode == "cubic"))
    return user_error("unsupported", format("{} interpolation of integers", mode));
  if (call.type().elements() == 0) return one(call.result());
  Tensor held = call.in();
  for (size_t dim = 2; dim < held.shape().size(); ++dim) {
    Axis axis{held.shape()[dim], call.type().shape[dim], scales.empty() ? 0 : scales[dim - 2]};
    Taps taps = mode == "linear"  ? linear(axis, align_corners)
                : mode == "cubic" ? cubic(axis, align_corners)
                                  : nearest(axis, mode == "nearest_exact");
    held = floating ? resample<double>(held, dim, taps) : resample<int64_t>(held, dim, taps);
  }
  return one(std::move(held));
}

}  // namespace stitch::oracle
