// Discrete Fourier transforms as products with matrices of sines and cosines: an exact meaning for every
// size. Long transforms are two short ones (Cooley and Tukey). Results are {real, imaginary} (complex.cpp
// joins them).
#include <cmath>
#include <numbers>

#include "base/text.h"
#include "import/aten/table.h"

namespace stitch {

namespace fourier {

namespace {

constexpr int64_t most_direct = 512;

struct Transform {
  int64_t dim, size;
  double sign;  // of the exponent: -1 forward, 1 back
};

// (rows, columns) of 2 pi (row * column mod size) / size: small angles, so that the sines are exact.
ValueId angles(Call& call, int64_t rows, int64_t columns, int64_t size) {
  auto count = [&](int64_t n, const Shape& shape) {
    return call.reshape(call.emit(Op::iota, {}, {{"size", n}, {"dtype", DType::i64}}), shape);
  };
  ValueId turns = call.emit(Op::mul, {count(rows, {rows, 1}), count(columns, {1, columns})});
  turns = call.emit(Op::remainder, {turns, call.whole_scalar(DType::i64, size)});
  return call.emit(Op::mul, {call.cast(turns, DType::f64),
                             call.scalar(DType::f64, 2 * std::numbers::pi / static_cast<double>(size))});
}

// {cos, sign * sin}, rounded once.
Values waves(Call& call, int64_t rows, int64_t columns, const Transform& t, DType dtype) {
  ValueId angle = angles(call, rows, columns, t.size);
  ValueId sine = call.emit(Op::sin, {angle});
  if (t.sign < 0) sine = call.emit(Op::neg, {sine});
  return {call.cast(call.emit(Op::cos, {angle}), dtype), call.cast(sine, dtype)};
}

// (x + iy)(c + is), where y may be none.
Values rotated(Call& call, Op op, const Values& z, const Values& by) {
  ValueId re = call.emit(op, {z[0], by[0]}), im = call.emit(op, {z[0], by[1]});
  if (z[1] == ValueId::none) return {re, im};
  return {call.emit(Op::sub, {re, call.emit(op, {z[1], by[1]})}),
          call.emit(Op::add, {im, call.emit(op, {z[1], by[0]})})};
}

int64_t factor_near_root(int64_t n) {
  for (int64_t f = static_cast<int64_t>(std::sqrt(static_cast<double>(n))); f > 1; --f)
    if (n % f == 0) return f;
  return 1;
}

Values map_parts(const Values& z, const std::function<ValueId(ValueId)>& change) {
  return {change(z[0]), z[1] == ValueId::none ? ValueId::none : change(z[1])};
}

// Along the last dimension, without a scale. `kept`: how many of the frequencies.
Values transformed_last(Call& call, const Values& z, int64_t size, double sign, int64_t kept) {
  DType dtype = call.type(z[0]).dtype;
  int64_t first = size > most_direct ? factor_near_root(size) : 1;
  if (first == 1) {
    if (size > 8 * most_direct)
      refuse(format("a Fourier transform of {} elements, which has no factors, is not supported", size),
             "pad to a size that is a product of small numbers (n=…)");
    return rotated(call, Op::matmul, z, waves(call, size, kept, {0, size, sign}, dtype));
  }
  // x[a second + b] -> over a, times a twist, over b; the result stands at k_a + first k_b.
  int64_t second = size / first;
  Shape lead(call.shape(z[0]).begin(), call.shape(z[0]).end() - 1), square = lead, turned = lead, flat = lead;
  square.insert(square.end(), {first, second});
  flat.push_back(size);
  std::vector<int64_t> swap;
  for (int64_t d = 0; d < std::ssize(square); ++d) swap.push_back(d);
  std::swap(swap.end()[-1], swap.end()[-2]);
  auto swapped = [&](ValueId x) { return call.permute(x, swap); };
  Values y = map_parts(z, [&](ValueId x) { return swapped(call.reshape(x, square)); });  // (b, a)
  y = transformed_last(call, y, first, sign, first);                                     // (b, k_a)
  y = rotated(call, Op::mul, y, waves(call, second, first, {0, size, sign}, dtype));
  y = map_parts(y, swapped);                            // (k_a, b)
  y = transformed_last(call, y, second, sign, second);  // (k_a, k_b)
  y = map_parts(y, [&](ValueId x) { return call.reshape(swapped(x), flat); });
  if (kept == size) return y;
  return map_parts(y, [&](ValueId x) { return call.slice(x, std::ssize(flat) - 1, 0, kept); });
}

// Cut or padded with zeros at its end.
ValueId resized(Call& call, ValueId x, int64_t dim, int64_t size) {
  int64_t now = call.shape(x)[static_cast<size_t>(dim)];
  if (now == size) return x;
  if (now > size) return call.slice(x, dim, 0, size);
  std::vector<int64_t> pads(2 * call.shape(x).size(), 0);
  pads[static_cast<size_t>(2 * dim + 1)] = size - now;
  return call.emit(Op::pad, {x}, {{"pads", pads}});
}

Values at_last(Call& call, const Values& z, int64_t dim, const std::function<Values(const Values&)>& change) {
  int64_t rank = call.rank(z[0]);
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d);
  std::swap(order[static_cast<size_t>(dim)], order.back());
  auto moved = [&](ValueId x) { return dim == rank - 1 ? x : call.permute(x, order); };
  return map_parts(change(map_parts(z, moved)), moved);
}

Values along(Call& call, const Values& z, int64_t dim, int64_t size, double sign, int64_t kept) {
  Values cut = map_parts(z, [&](ValueId x) { return resized(call, x, dim, size); });
  // A product wants matrices.
  if (call.rank(cut[0]) == 1) {
    Values rows = map_parts(cut, [&](ValueId x) { return call.reshape(x, {1, size}); });
    return map_parts(transformed_last(call, rows, size, sign, kept),
                     [&](ValueId x) { return call.reshape(x, {kept}); });
  }
  return at_last(call, cut, dim,
                 [&](const Values& y) { return transformed_last(call, y, size, sign, kept); });
}

// Half a spectrum along dim becomes the real signal of `size`: the other half is its mirror image.
ValueId real_along(Call& call, const Values& half, int64_t dim, int64_t size, double sign) {
  int64_t given = size / 2 + 1;
  Values z = map_parts(half, [&](ValueId x) { return resized(call, x, dim, given); });
  int64_t mirrored = size - given;
  if (mirrored > 0) {
    auto mirror = [&](ValueId x) {
      return call.emit(Op::flip, {call.slice(x, dim, 1, mirrored + 1)},
                       {{"dims", std::vector<int64_t>{dim}}});
    };
    z[0] = call.emit(Op::concat, {z[0], mirror(z[0])}, {{"dim", dim}});
    if (z[1] != ValueId::none)
      z[1] = call.emit(Op::concat, {z[1], call.emit(Op::neg, {mirror(z[1])})}, {{"dim", dim}});
  }
  return along(call, z, dim, size, sign, size)[0];
}

double scale_of(const std::string& norm, bool back, double count) {
  if (norm == "ortho") return 1 / std::sqrt(count);
  return (norm == "forward") != back ? 1 / count : 1;
}

Values scaled(Call& call, const Values& z, double scale) {
  if (scale == 1) return z;
  return map_parts(z, [&](ValueId x) {
    return call.emit(Op::mul, {x, call.scalar(call.type(x).dtype, scale)});
  });
}

struct Kind {
  bool back, real_in, real_out;
};

// fft, ifft, rfft, irfft, hfft, ihfft and their relatives of several dimensions.
Compute transform(Kind kind, int dims) {
  return [=](Call& call) {
    Values z = call.parts("self");
    int64_t rank = call.rank(z[0]);
    std::vector<int64_t> over, sizes;
    if (dims == 1) {
      over = {call.dimension(call.integer("dim", -1), rank)};
      if (call.has("n")) sizes = {call.integer("n")};
    } else {
      sizes = call.integers("s");
      over = call.integers("dim");
      if (!call.has("dim") && dims == 2) over = {-2, -1};
      if (over.empty() && !call.has("dim"))
        for (int64_t d = call.has("s") ? rank - std::ssize(sizes) : 0; d < rank; ++d) over.push_back(d);
      for (int64_t& d : over) d = call.dimension(d, rank);
    }
    auto size_along = [&](size_t i) {
      int64_t own = call.shape(z[0])[static_cast<size_t>(over[i])];
      if (i < sizes.size() && sizes[i] >= 0) return sizes[i];
      return kind.real_out && i + 1 == over.size() ? 2 * (own - 1) : own;
    };
    double count = 1;
    for (size_t i = 0; i < over.size(); ++i) count *= static_cast<double>(size_along(i));
    std::string norm = call.has("norm") ? call.text("norm") : "backward";
    double sign = kind.back ? 1 : -1, scale = scale_of(norm, kind.back, count);
    if (over.empty()) return z;
    size_t last = over.size() - 1;
    if (kind.real_in) {
      int64_t size = size_along(last);
      z = along(call, z, over[last], size, sign, size / 2 + 1);
    }
    for (size_t i = 0; i < over.size(); ++i) {
      if (i == last && (kind.real_in || kind.real_out)) continue;
      int64_t size = size_along(i);
      z = along(call, z, over[i], size, sign, size);
    }
    if (kind.real_out) z = {real_along(call, z, over[last], size_along(last), sign), ValueId::none};
    return scaled(call, z, scale);
  };
}

// The window, centred in n_fft and padded with zeros; ones without one.
ValueId window_of(Call& call, int64_t size, DType dtype) {
  int64_t length = call.integer("win_length", size);
  ValueId window =
      call.has("window") ? call.cast(call.tensor("window"), dtype) : call.full({length}, dtype, 1);
  int64_t before = (size - length) / 2;
  if (length == size) return window;
  return call.emit(Op::pad, {window}, {{"pads", std::vector<int64_t>{before, size - length - before}}});
}

Values stft(Call& call) {
  Values z = call.parts("self");
  if (call.flag("center", false)) {
    int64_t half = call.integer("n_fft") / 2;
    std::string mode = call.has("pad_mode") ? call.text("pad_mode") : "reflect";
    z = map_parts(z, [&](ValueId x) {
      std::vector<int64_t> pads(2 * call.shape(x).size(), 0);
      pads.end()[-2] = pads.end()[-1] = half;
      return call.emit(Op::pad, {x}, {{"pads", pads}, {"mode", mode}});
    });
  }
  int64_t size = call.integer("n_fft"), hop = call.integer("hop_length", size / 4),
          length = call.shape(z[0]).back(), frames = (length - size) / hop + 1;
  bool single = call.rank(z[0]) == 1, complex_in = z[1] != ValueId::none,
       onesided = call.flag("onesided", !complex_in);
  int64_t batch = single ? 1 : call.shape(z[0])[0], kept = onesided ? size / 2 + 1 : size;
  ValueId window = window_of(call, size, call.type(z[0]).dtype);
  Values framed = map_parts(z, [&](ValueId x) {
    ValueId views =
        call.emit(Op::strided_view, {call.reshape(x, {batch, length})},
                  {{"shape", Shape{batch, frames, size}}, {"strides", std::vector<int64_t>{length, hop, 1}}});
    return call.emit(Op::mul, {views, window});
  });
  Values spectrum = transformed_last(call, framed, size, -1, kept);
  if (call.flag("normalized", false))
    spectrum = scaled(call, spectrum, 1 / std::sqrt(static_cast<double>(size)));
  Shape shape = {batch, kept, frames};
  if (single) shape.erase(shape.begin());
  spectrum = map_parts(spectrum, [&](ValueId x) { return call.reshape(call.permute(x, {0, 2, 1}), shape); });
  if (call.node().outputs.at(0).complex) return spectrum;
  return {call.joined(spectrum[0], spectrum[1])};
}

// Frames (batch, frames, size) added up where they overlap: a transposed convolution with a one-hot kernel.
ValueId overlapped(Call& call, ValueId frames, int64_t size, int64_t hop) {
  DType dtype = call.type(frames).dtype;
  ValueId place = call.emit(Op::iota, {}, {{"size", size}, {"dtype", DType::i64}});
  ValueId one_hot = call.cast(call.emit(Op::eq, {call.reshape(place, {size, 1}), place}), dtype);
  ValueId out =
      call.emit(Op::conv_transpose, {call.permute(frames, {0, 2, 1}), call.reshape(one_hot, {size, 1, size})},
                {{"stride", std::vector<int64_t>{hop}},
                 {"padding", std::vector<int64_t>{0}},
                 {"dilation", std::vector<int64_t>{1}},
                 {"groups", int64_t{1}},
                 {"output_padding", std::vector<int64_t>{0}}});
  return call.reshape(out, {call.shape(out)[0], call.shape(out)[2]});
}

Values istft(Call& call) {
  Values z = call.parts("self");
  if (z[1] == ValueId::none || call.flag("return_complex", false))
    refuse("istft of a real tensor, or to a complex one, is not supported",
           "use complex spectra and real signals");
  int64_t size = call.integer("n_fft"), hop = call.integer("hop_length", size / 4);
  bool single = call.rank(z[0]) == 2;
  Shape s = call.shape(z[0]);
  if (single) s.insert(s.begin(), 1);
  int64_t bins = s[1], frames = s[2];
  z = map_parts(z, [&](ValueId x) { return call.permute(call.reshape(x, s), {0, 2, 1}); });
  // Of a whole spectrum PyTorch takes the first half, and the other for its mirror image.
  if (!call.flag("onesided", bins != size))
    z = map_parts(z, [&](ValueId x) { return call.slice(x, 2, 0, size / 2 + 1); });
  ValueId signal = real_along(call, z, 2, size, 1);
  double scale =
      call.flag("normalized", false) ? std::sqrt(static_cast<double>(size)) : static_cast<double>(size);
  DType dtype = call.type(signal).dtype;
  signal = call.emit(Op::mul, {signal, call.scalar(dtype, 1 / scale)});
  ValueId window = window_of(call, size, dtype);
  ValueId sum = overlapped(call, call.emit(Op::mul, {signal, window}), size, hop);
  ValueId squares = call.expand(call.emit(Op::mul, {window, window}), {1, frames, size});
  ValueId weight = overlapped(call, squares, size, hop);
  int64_t length = call.shape(sum)[1], start = call.flag("center", true) ? size / 2 : 0,
          end = call.has("length") ? start + call.integer("length")
                                   : length - (call.flag("center", true) ? size / 2 : 0);
  auto cut = [&](ValueId x) {
    ValueId inside = call.slice(x, 1, start, std::min(end, length));
    return resized(call, inside, 1, end - start);
  };
  // Behind the last frame there is nothing to divide.
  ValueId divisor = cut(weight), none = call.emit(Op::eq, {divisor, call.scalar(dtype, 0)});
  divisor = call.emit(Op::where, {none, call.scalar(dtype, 1), divisor});
  ValueId out = call.emit(Op::div, {cut(sum), divisor});
  return {call.reshape(out, call.output().shape)};
}

ValueId shifted(Call& call, bool back) {
  ValueId x = call.tensor("self");
  std::vector<int64_t> dims = call.integers("dim"), shifts;
  if (!call.has("dim"))
    for (int64_t d = 0; d < call.rank(x); ++d) dims.push_back(d);
  for (int64_t& d : dims) {
    d = call.dimension(d, call.rank(x));
    int64_t size = call.shape(x)[static_cast<size_t>(d)];
    shifts.push_back(back ? (size + 1) / 2 : size / 2);
  }
  return call.emit(Op::roll, {x}, {{"shifts", shifts}, {"dims", dims}});
}

// 0, 1, …, then the negative ones; or those that rfft keeps.
ValueId frequencies(Call& call, bool half) {
  int64_t n = call.integer("n");
  DType dtype = call.output().dtype;
  double step = 1 / (static_cast<double>(n) * call.number("d", 1));
  auto run = [&](int64_t count, int64_t from) {
    ValueId whole =
        call.emit(Op::iota, {}, {{"size", count}, {"dtype", dtype}, {"start", static_cast<double>(from)}});
    return call.emit(Op::mul, {whole, call.scalar(dtype, step)});
  };
  if (half) return run(n / 2 + 1, 0);
  if (n == 1) return run(1, 0);
  return call.emit(Op::concat, {run((n + 1) / 2, 0), run(n / 2, -(n / 2))}, {{"dim", int64_t{0}}});
}

// Cosine windows: a - b cos(2 pi i / N) + c cos(4 pi i / N).
ComputeOne window(double a, double b, double c) {
  return [=](Call& call) {
    int64_t n = call.integer("window_length");
    bool periodic = call.flag("periodic", true);
    double first = call.number("alpha", a), second = call.number("beta", call.has("alpha") ? 1 - first : b);
    DType dtype = call.output().dtype;
    if (n == 1) return call.full({1}, dtype, 1);
    ValueId i = call.emit(Op::iota, {}, {{"size", n}, {"dtype", DType::f64}});
    double step = 2 * std::numbers::pi / static_cast<double>(periodic ? n : n - 1);
    auto wave = [&](double harmonic, double weight) {
      ValueId angle = call.emit(Op::mul, {i, call.scalar(DType::f64, harmonic * step)});
      return call.emit(Op::mul, {call.emit(Op::cos, {angle}), call.scalar(DType::f64, weight)});
    };
    ValueId y = call.emit(Op::sub, {call.scalar(DType::f64, first), wave(1, second)});
    if (c != 0) y = call.emit(Op::add, {y, wave(2, c)});
    return call.cast(y, dtype);
  };
}

}  // namespace

void fill(AtenTable& table) {
  struct Named {
    const char* name;
    Kind kind;
  };
  for (Named each : {Named{"fft", {false, false, false}},
                     {"ifft", {true, false, false}},
                     {"rfft", {false, true, false}},
                     {"irfft", {true, false, true}},
                     {"hfft", {false, false, true}},
                     {"ihfft", {true, true, false}}}) {
    table.many(format("aten.fft_{}.default", each.name), transform(each.kind, 1));
    table.many(format("aten.fft_{}2.default", each.name), transform(each.kind, 2));
    table.many(format("aten.fft_{}n.default", each.name), transform(each.kind, 0));
  }
  table.one("aten.fft_fftshift.default", [](Call& call) { return shifted(call, false); });
  table.one("aten.fft_ifftshift.default", [](Call& call) { return shifted(call, true); });
  table.one("aten.fft_fftfreq.default", [](Call& call) { return frequencies(call, false); });
  table.one("aten.fft_rfftfreq.default", [](Call& call) { return frequencies(call, true); });
  for (const char* overload : {"default", "center"}) table.many(format("aten.stft.{}", overload), stft);
  table.many("aten.istft.default", istft);
  for (const char* overload : {"default", "periodic", "periodic_alpha", "periodic_alpha_beta"}) {
    table.one(format("aten.hann_window.{}", overload), window(0.5, 0.5, 0));
    table.one(format("aten.hamming_window.{}", overload), window(0.54, 0.46, 0));
    table.one(format("aten.blackman_window.{}", overload), window(0.42, 0.5, 0.08));
  }
  for (const char* overload : {"default", "periodic"})
    table.one(format("aten.bartlett_window.{}", overload), [](Call& call) {
      int64_t n = call.integer("window_length");
      DType dtype = call.output().dtype;
      if (n == 1) return call.full({1}, dtype, 1);
      double whole = static_cast<double>(call.flag("periodic", true) ? n : n - 1);
      ValueId x =
          call.emit(Op::iota, {}, {{"size", n}, {"dtype", DType::f64}, {"start", -1.0}, {"step", 2 / whole}});
      return call.cast(call.emit(Op::sub, {call.scalar(DType::f64, 1), call.emit(Op::abs, {x})}), dtype);
    });
}

}  // namespace fourier

void add_fourier(AtenTable& table) { fourier::fill(table); }

}  // namespace stitch
