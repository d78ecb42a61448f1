#include "oracle/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "base/error_codes.h"
#include "base/machine/parallel.h"
#include "base/text.h"

namespace stitch::oracle {

static_assert(std::endian::native == std::endian::little, "elements are read and written as they lie");

namespace {

constexpr int64_t grain = 1 << 16;

// Element i of stored data, as the interpreter holds it.
template <class Stored, class Held, class Convert>
void decode_all(std::span<const std::byte> bytes, Held* out, Convert convert) {
  parallel_for(static_cast<int64_t>(bytes.size() / sizeof(Stored)), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Stored stored;
      std::memcpy(&stored, bytes.data() + i * static_cast<int64_t>(sizeof stored), sizeof stored);
      out[i] = convert(stored);
    }
  });
}

template <class Stored, class Held, class Convert>
void encode_all(const Held* in, int64_t count, std::byte* out, Convert convert) {
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Stored stored = static_cast<Stored>(convert(in[i]));
      std::memcpy(out + i * static_cast<int64_t>(sizeof stored), &stored, sizeof stored);
    }
  });
}

// One conversion for every pair of kinds: through the element's value.
template <class Held>
void encode_as(DType dtype, const Held* in, int64_t count, std::byte* out) {
  auto number = [](Held value) { return static_cast<double>(value); };
  auto integer = [dtype](Held value) {
    if constexpr (std::is_same_v<Held, double>)
      return to_integer(value, dtype);
    else
      return wrapped(value, dtype);
  };
  switch (dtype) {
    case DType::f64: return encode_all<double>(in, count, out, number);
    case DType::f32: return encode_all<float>(in, count, out, number);
    case DType::f16:
      return encode_all<uint16_t>(in, count, out, [](Held v) { return to_half_bits(double(v)); });
    case DType::bf16:
      return encode_all<uint16_t>(in, count, out, [](Held v) { return to_bfloat_bits(double(v)); });
    case DType::i64: return encode_all<int64_t>(in, count, out, integer);
    case DType::i32: return encode_all<int32_t>(in, count, out, integer);
    case DType::i8: return encode_all<int8_t>(in, count, out, integer);
    case DType::u8:
    case DType::boolean: return encode_all<uint8_t>(in, count, out, integer);
  }
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), elements_(element_count(shape_)) {
  static_assert(sizeof(double) == sizeof(int64_t));
  buffer_ = std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(elements_) * sizeof(double));
}

Tensor Tensor::of(DType dtype, Shape shape, const std::vector<double>& values) {
  Tensor out(dtype, std::move(shape));
  require(std::ssize(values) == out.elements(), "as many values as elements");
  if (is_floating(dtype))
    std::ranges::copy(values, out.writable<double>());
  else
    std::ranges::transform(values, out.writable<int64_t>(), [&](double v) { return to_integer(v, dtype); });
  return out;
}

Result<Tensor> Tensor::from_bytes(DType dtype, Shape shape, std::span<const std::byte> bytes) {
  int64_t wanted = element_count(shape) * size_of(dtype);
  if (std::ssize(bytes) != wanted)
    return user_error("wrong_size", format("{} bytes for {}{}, which has {}", bytes.size(), name(dtype),
                                           text(shape), wanted));
  Tensor out;
  try {
    out = Tensor(dtype, shape);
  } catch (const std::bad_alloc&) {
    return work_error(error_code::memory,
                      format("not enough memory for {}{}: it takes {} in float64", name(dtype), text(shape),
                             bytes_text(8.0 * static_cast<double>(element_count(shape)))),
                      "use smaller inputs, or a machine with more memory");
  }
  auto same = [](auto stored) { return stored; };
  switch (dtype) {
    case DType::f64: decode_all<double>(bytes, out.writable<double>(), same); break;
    case DType::f32: decode_all<float>(bytes, out.writable<double>(), same); break;
    case DType::f16: decode_all<uint16_t>(bytes, out.writable<double>(), from_half_bits); break;
    case DType::bf16: decode_all<uint16_t>(bytes, out.writable<double>(), from_bfloat_bits); break;
    case DType::i64: decode_all<int64_t>(bytes, out.writable<int64_t>(), same); break;
    case DType::i32: decode_all<int32_t>(bytes, out.writable<int64_t>(), same); break;
    case DType::i8: decode_all<int8_t>(bytes, out.writable<int64_t>(), same); break;
    case DType::u8: decode_all<uint8_t>(bytes, out.writable<int64_t>(), same); break;
    case DType::boolean:
      decode_all<uint8_t>(bytes, out.writable<int64_t>(), [](uint8_t stored) { return stored != 0; });
      break;
  }
  return out;
}

Tensor Tensor::reshaped(Shape shape) const {
  require(element_count(shape) == elements_, "a reshape keeps the number of elements");
  Tensor out = *this;
  out.shape_ = std::move(shape);
  return out;
}

Tensor Tensor::labelled(DType dtype) const {
  require(is_floating(dtype) == floating(), "a label of the same kind");
  Tensor out = *this;
  out.dtype_ = dtype;
  return out;
}

Tensor Tensor::copy() const {
  Tensor out(dtype_, shape_);
  if (elements_)
    std::memcpy(out.buffer_.get(), buffer_.get(), static_cast<size_t>(elements_) * sizeof(double));
  return out;
}

std::vector<std::byte> Tensor::to_bytes(DType dtype) const {
  std::vector<std::byte> bytes(static_cast<size_t>(elements_ * size_of(dtype)));
  with_element(dtype_,
               [&](auto element) { encode_as(dtype, data<decltype(element)>(), elements_, bytes.data()); });
  return bytes;
}

int64_t to_integer(double value, DType dtype) {
  if (dtype == DType::boolean) return value != 0;  // NaN is true
  if (std::isnan(value)) return 0;
  double low = -0x1p63, high = 0x1p63;
  if (dtype == DType::i32) low = -0x1p31, high = 0x1p31 - 1;
  if (value <= low) return static_cast<int64_t>(low);
  if (value >= high)
    return dtype == DType::i32 ? std::numeric_limits<int32_t>::max()
                               : wrapped(std::numeric_limits<int64_t>::max(), dtype);
  return wrapped(static_cast<int64_t>(value), dtype);
}

namespace {

struct Format {
  int mantissa;  // bits after the point
  int bias;
  int infinity() const { return (2 * bias + 1) << mantissa; }
};
constexpr Format half{10, 15}, bfloat{7, 127};

uint16_t encode(double value, Format format) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023, least = 1 - format.bias;
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1), number = fraction | uint64_t{1} << 52;
  if (exponent == 1024)
    return static_cast<uint16_t>(sign | format.infinity() | (fraction ? 1 << (format.mantissa - 1) : 0));
  // Subnormals share the smallest exponent.
  const int dropped = 52 - format.mantissa + std::max(0, least - exponent);
  if (dropped > 53) return sign;
  const uint64_t rest = number & ((uint64_t{1} << dropped) - 1), tie = uint64_t{1} << (dropped - 1);
  uint64_t steps = number >> dropped;
  steps += rest > tie || (rest == tie && steps % 2 != 0);
  // `steps` includes the leading 1 of normal numbers, so a carry runs into the exponent.
  const int rounded = ((std::max(exponent, least) - least) << format.mantissa) + static_cast<int>(steps);
  return static_cast<uint16_t>(sign | std::min(rounded, format.infinity()));
}

double decode(uint16_t bits, Format format) {
  int exponent = (bits & 0x7fff) >> format.mantissa, steps = bits & ((1 << format.mantissa) - 1);
  double size;
  if (exponent == 2 * format.bias + 1)
    size = steps ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    size = std::scalbn(steps, 1 - format.bias - format.mantissa);
  else
    size = std::scalbn(steps + (1 << format.mantissa), exponent - format.bias - format.mantissa);
  return bits & 0x8000 ? -size : size;
}

}  // namespace

uint16_t to_half_bits(double value) { return encode(value, half); }
uint16_t to_bfloat_bits(double value) { return encode(value, bfloat); }
double from_half_bits(uint16_t bits) {
  static const std::vector<double> all = [] {
    std::vector<double> out;
    for (int each = 0; each <= 0xffff; ++each) out.push_back(decode(static_cast<uint16_t>(each), half));
    return out;
  }();
  return all[bits];
}
double from_bfloat_bits(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace stitch::oracle
