#include "library/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "stitch/small_floats.h"

namespace stitch_emulated {

namespace {

struct Half {
  uint16_t code;
  operator float() const { return float_from_half(code); }
  template <class T>
  static Half from(T value) {
    if constexpr (std::is_same_v<T, double>) return {static_cast<uint16_t>(HalfFormat::encode(value))};
    return {half_from_float(static_cast<float>(value))};
  }
};
struct Bfloat {
  uint16_t code;
  operator float() const { return float_from_bfloat(code); }
  template <class T>
  static Bfloat from(T value) {
    if constexpr (std::is_same_v<T, double>) return {static_cast<uint16_t>(BfloatFormat::encode(value))};
    return {bfloat_from_float(static_cast<float>(value))};
  }
};
template <class Format>
struct Eight {
  uint8_t code;
  operator float() const { return Format::decode(code); }
  template <class T>
  static Eight from(T value) {
    return {static_cast<uint8_t>(Format::encode(static_cast<double>(value), Rounding::nearest, true))};
  }
};

// Calls f with a value of the element's type.
template <class F>
void with_type(Element element, F&& f) {
  switch (element) {
    case Element::f64: return f(double{});
    case Element::f32: return f(float{});
    case Element::f16: return f(Half{});
    case Element::bf16: return f(Bfloat{});
    case Element::e4m3: return f(Eight<E4m3Format>{});
    case Element::e5m2: return f(Eight<E5m2Format>{});
    case Element::i8: return f(int8_t{});
    case Element::i32: return f(int32_t{});
  }
}

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    const double bound = static_cast<double>(std::numeric_limits<To>::max());
    return static_cast<To>(std::clamp(std::nearbyint(static_cast<double>(value)), -bound - 1, bound));
  } else if constexpr (std::is_same_v<To, int8_t>) {
    return static_cast<To>(std::clamp<int64_t>(value, -128, 127));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

size_t bytes_of(Element element) {
  size_t bytes = 0;
  with_type(element, [&](auto type) { bytes = sizeof type; });
  return bytes;
}

void round_to(Precision precision, float* values, size_t count) {
  switch (precision) {
    case Precision::full: return;
    case Precision::tf32:
      for (size_t i = 0; i < count; ++i) {
        uint32_t word;
        std::memcpy(&word, values + i, 4);
        if ((word & 0x7F800000) != 0x7F800000) word = (word + 0x1000) & ~uint32_t{0x1FFF};
        std::memcpy(values + i, &word, 4);
      }
      return;
    case Precision::half:
      for (size_t i = 0; i < count; ++i) values[i] = float_from_half(half_from_float(values[i]));
      return;
    case Precision::bfloat:
      for (size_t i = 0; i < count; ++i) values[i] = float_from_bfloat(bfloat_from_float(values[i]));
      return;
  }
}

template <class T>
void read(Element element, const void* from, int64_t offset, int64_t step, int64_t count, T* out) {
  with_type(element, [&](auto type) {
    using Type = decltype(type);
    const Type* start = static_cast<const Type*>(from) + offset;
    if constexpr (std::is_same_v<Type, T>) {
      if (step == 1) {
        std::memcpy(out, start, static_cast<size_t>(count) * sizeof(T));
        return;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_arithmetic_v<Type>)
        out[i] = convert<T>(start[i * step]);
      else
        out[i] = convert<T>(static_cast<float>(start[i * step]));
    }
  });
}

template <class T>
void write(Element element, void* to, int64_t offset, int64_t step, int64_t count, const T* in) {
  with_type(element, [&](auto type) {
    using Type = decltype(type);
    Type* start = static_cast<Type*>(to) + offset;
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_arithmetic_v<Type>)
        start[i * step] = convert<Type>(in[i]);
      else
        start[i * step] = Type::from(in[i]);
    }
  });
}

double read_one(Element element, const void* from) {
  double value = 0;
  read(element, from, 0, 1, 1, &value);
  return value;
}

template void read(Element, const void*, int64_t, int64_t, int64_t, float*);
template void read(Element, const void*, int64_t, int64_t, int64_t, double*);
template void read(Element, const void*, int64_t, int64_t, int64_t, int32_t*);
template void write(Element, void*, int64_t, int64_t, int64_t, const float*);
template void write(Element, void*, int64_t, int64_t, int64_t, const double*);
template void write(Element, void*, int64_t, int64_t, int64_t, const int32_t*);

namespace {

// A block's sums stay in registers; its panel of b (k_block x width) stays in L1.
constexpr int64_t height = 4, width = 16, k_block = 256;

template <class T, int64_t Rows>
void block(int64_t k, const T* a, int64_t a_step, const T* panel, T* c, int64_t c_step, int64_t columns) {
  T sums[Rows][width] = {};
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t r = 0; r < Rows; ++r) {
      const T factor = a[r * a_step + p];
      for (int64_t j = 0; j < width; ++j) sums[r][j] += factor * panel[p * width + j];
    }
  }
  for (int64_t r = 0; r < Rows; ++r)
    for (int64_t j = 0; j < columns; ++j) c[r * c_step + j] += sums[r][j];
}

}  // namespace

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_step, T* c,
              int64_t c_step) {
  for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_step, n, T{});
  T panel[k_block * width];
  for (int64_t k0 = 0; k0 < k; k0 += k_block) {
    const int64_t depth = std::min(k_block, k - k0);
    for (int64_t j0 = 0; j0 < n; j0 += width) {
      const int64_t columns = std::min(width, n - j0);
      for (int64_t p = 0; p < depth; ++p) {
        const T* row = b + (k0 + p) * b_step + j0;
        for (int64_t j = 0; j < width; ++j) panel[p * width + j] = j < columns ? row[j] : T{};
      }
      int64_t i = 0;
      for (; i + height <= m; i += height)
        block<T, height>(depth, a + i * a_step + k0, a_step, panel, c + i * c_step + j0, c_step, columns);
      for (; i < m; ++i)
        block<T, 1>(depth, a + i * a_step + k0, a_step, panel, c + i * c_step + j0, c_step, columns);
    }
  }
}

template void multiply(int64_t, int64_t, int64_t, const float*, int64_t, const float*, int64_t, float*,
                       int64_t);
template void multiply(int64_t, int64_t, int64_t, const double*, int64_t, const double*, int64_t, double*,
                       int64_t);
template void multiply(int64_t, int64_t, int64_t, const int32_t*, int64_t, const int32_t*, int64_t, int32_t*,
                       int64_t);

}  // namespace stitch_emulated
