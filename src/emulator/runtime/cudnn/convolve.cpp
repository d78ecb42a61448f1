#include "cudnn/descriptors.h"

#include "library/numbers.h"

namespace stitch_emulated {

namespace {

constexpr int64_t pixels_at_once = 256;

int64_t volume(const View& view) { return view.dims[2] * view.dims[3] * view.dims[4]; }

// The source images as T, (N, C, D, H, W).
template <class T>
std::vector<T> packed_source(const Convolution& c) {
  const View& x = c.source;
  std::vector<T> out(static_cast<size_t>(x.elements()));
  Rows(x).for_each([&](int64_t row) {
    T* to = out.data() + row * x.dims[4];
    read(x.element, x.data, Rows(x).offset(x, row), x.steps[4], x.dims[4], to);
    if (x.element == Element::f32) round_to(c.precision, to, static_cast<size_t>(x.dims[4]));
  });
  return out;
}

// The filter as T, per group: (target channels, source channels times taps).
template <class T>
std::vector<T> packed_filter(const Convolution& c, int64_t out_channels, int64_t in_channels) {
  const int64_t taps = c.kernel[0] * c.kernel[1] * c.kernel[2];
  std::vector<T> out(static_cast<size_t>(c.groups * out_channels * in_channels * taps));
  for_each_part(static_cast<size_t>(c.groups * out_channels), [&](size_t part) {
    const int64_t g = static_cast<int64_t>(part) / out_channels,
                  o = static_cast<int64_t>(part) % out_channels;
    T* to = out.data() + static_cast<int64_t>(part) * in_channels * taps;
    for (int64_t i = 0; i < in_channels; ++i) {
      // In the filter K is y's channel and C is x's, in both directions.
      const int64_t k = c.backward ? g * in_channels + i : g * out_channels + o;
      const int64_t channel = c.backward ? o : i;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t from = c.flipped ? taps - 1 - tap : tap;
        const int64_t d = from / (c.kernel[1] * c.kernel[2]), h = from / c.kernel[2] % c.kernel[1],
                      w = from % c.kernel[2];
        read(c.filter_element, c.filter,
             k * c.filter_steps[0] + channel * c.filter_steps[1] + d * c.filter_steps[2] +
                 h * c.filter_steps[3] + w * c.filter_steps[4],
             1, 1, to + i * taps + tap);
      }
    }
    if (c.filter_element == Element::f32) round_to(c.precision, to, static_cast<size_t>(in_channels * taps));
  });
  return out;
}

// The source coordinate of a target pixel's tap along one dimension; -1 in the padding.
int64_t source_place(const Convolution& c, int d, int64_t target, int64_t tap) {
  const int64_t size = c.source.dims[static_cast<size_t>(d) + 2];
  int64_t at;
  if (c.backward) {
    at = target + c.pad[d] - tap * c.dilation[d];
    if (at < 0 || at % c.stride[d]) return -1;
    at /= c.stride[d];
  } else {
    at = target * c.stride[d] - c.pad[d] + tap * c.dilation[d];
  }
  return at < 0 || at >= size ? -1 : at;
}

template <class T>
void finish(const Convolution& c, int64_t image, int64_t channel, int64_t first, int64_t count,
            const T* sums) {
  const View& y = c.target;
  double bias = 0;
  if (c.bias) read(c.bias_element, c.bias, channel, 1, 1, &bias);
  std::vector<double> line(static_cast<size_t>(y.dims[4])), other(line.size());
  for (int64_t done = 0; done < count;) {
    const int64_t pixel = first + done, w = pixel % y.dims[4], h = pixel / y.dims[4] % y.dims[3],
                  d = pixel / y.dims[4] / y.dims[3];
    const int64_t run = std::min(count - done, y.dims[4] - w);
    auto offset = [&](const View& view) {
      return image * view.steps[0] + channel * view.steps[1] + d * view.steps[2] + h * view.steps[3] +
             w * view.steps[4];
    };
    if (c.beta != 0)
      read(c.other.element, c.other.data, offset(c.other), c.other.steps[4], run, other.data());
    for (int64_t i = 0; i < run; ++i) {
      double value = c.alpha * static_cast<double>(sums[done + i]) + bias;
      if (c.beta != 0) value += c.beta * other[static_cast<size_t>(i)];
      line[static_cast<size_t>(i)] = activate(c.activation, value);
    }
    write(y.element, y.data, offset(y), y.steps[4], run, line.data());
    done += run;
  }
}

template <class T>
void run(const Convolution& c) {
  const View &x = c.source, &y = c.target;
  const int64_t in_channels = x.dims[1] / c.groups, out_channels = y.dims[1] / c.groups;
  const int64_t taps = c.kernel[0] * c.kernel[1] * c.kernel[2], depth = in_channels * taps;
  const std::vector<T> source = packed_source<T>(c), filter = packed_filter<T>(c, out_channels, in_channels);
  const int64_t pixels = volume(y), image_size = volume(x);
  const int64_t chunks = (pixels + pixels_at_once - 1) / pixels_at_once;
  for_each_part(static_cast<size_t>(y.dims[0] * c.groups * chunks), [&](size_t part) {
    const auto task = static_cast<int64_t>(part);
    const int64_t image = task / chunks / c.groups, group = task / chunks % c.groups;
    const int64_t first = task % chunks * pixels_at_once, count = std::min(pixels_at_once, pixels - first);
    // gathered (depth, count): im2col.
    std::vector<T> gathered(static_cast<size_t>(depth * count)),
        sums(static_cast<size_t>(out_channels * count));
    std::vector<int64_t> places(static_cast<size_t>(count));
    const T* images = source.data() + (image * x.dims[1] + group * in_channels) * image_size;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t tap_at[3] = {tap / (c.kernel[1] * c.kernel[2]), tap / c.kernel[2] % c.kernel[1],
                                 tap % c.kernel[2]};
      for (int64_t p = 0; p < count; ++p) {
        const int64_t pixel = first + p;
        const int64_t at[3] = {pixel / y.dims[4] / y.dims[3], pixel / y.dims[4] % y.dims[3],
                               pixel % y.dims[4]};
        int64_t place = 0;
        for (int d = 0; d < 3 && place >= 0; ++d) {
          const int64_t along = source_place(c, d, at[d], tap_at[d]);
          place = along < 0 ? -1 : place * x.dims[static_cast<size_t>(d) + 2] + along;
        }
        places[static_cast<size_t>(p)] = place;
      }
      for (int64_t i = 0; i < in_channels; ++i) {
        T* to = gathered.data() + (i * taps + tap) * count;
        const T* from = images + i * image_size;
        for (int64_t p = 0; p < count; ++p) {
          const int64_t place = places[static_cast<size_t>(p)];
          to[p] = place < 0 ? T{} : from[place];
        }
      }
    }
    multiply(out_channels, count, depth, filter.data() + group * out_channels * depth, depth, gathered.data(),
             count, sums.data(), count);
    for (int64_t o = 0; o < out_channels; ++o)
      finish(c, image, group * out_channels + o, first, count, sums.data() + o * count);
  });
}

}  // namespace

void convolve(const Convolution& convolution) {
  if (convolution.source.element == Element::f64) return run<double>(convolution);
  run<float>(convolution);
}

}  // namespace stitch_emulated
