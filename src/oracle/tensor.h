// The interpreter's tensor: row-major elements, wider than their dtype.
//   Floats of every dtype are doubles, never rounded: a cast from f32 to f16 changes only the label.
//   Integers and bool are int64_t, kept within their dtype's range by the code that writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "graph/type.h"

namespace stitch::oracle {

// Conversion from and to 16-bit floats.

// Rounded once, to nearest, ties to even. Going through float would round twice.
uint16_t to_half_bits(double value);
uint16_t to_bfloat_bits(double value);
double from_half_bits(uint16_t bits);
double from_bfloat_bits(uint16_t bits);

class Tensor {
 public:
  Tensor() : Tensor(DType::f32, {0}) {}
  // Uninitialised. Throws std::bad_alloc.
  Tensor(DType dtype, Shape shape);
  // From numbers, for tests and constants; converted like a cast.
  static Tensor of(DType dtype, Shape shape, const std::vector<double>& values);
  // From little-endian elements; the byte count must match.
  static Result<Tensor> from_bytes(DType dtype, Shape shape, std::span<const std::byte> bytes);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t elements() const { return elements_; }
  bool floating() const { return is_floating(dtype_); }

  // T is double for floats and int64_t for everything else.
  template <class T>
  const T* data() const {
    require(holds<T>(), "a tensor read as what it isn't");
    return reinterpret_cast<const T*>(buffer_.get());
  }
  // Only for the tensor's creator: shared elements never change.
  template <class T>
  T* writable() {
    require(holds<T>(), "a tensor written as what it isn't");
    require(buffer_.use_count() == 1, "a shared tensor is written");
    return reinterpret_cast<T*>(buffer_.get());
  }

  // The same elements under another shape, or another dtype of the same kind, without a copy.
  Tensor reshaped(Shape shape) const;
  Tensor labelled(DType dtype) const;
  Tensor copy() const;

  // Little-endian elements as `dtype`: floats rounded to nearest, ties to even; other kinds as a cast.
  std::vector<std::byte> to_bytes(DType dtype) const;
  std::vector<std::byte> to_bytes() const { return to_bytes(dtype_); }

 private:
  template <class T>
  bool holds() const {
    return std::is_same_v<T, double> == is_floating(dtype_);
  }

  DType dtype_;
  Shape shape_;
  int64_t elements_;
  std::shared_ptr<std::byte[]> buffer_;
};

// An integer wrapped into the dtype's range; bool: non-zero.
inline int64_t wrapped(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::i32: return static_cast<int32_t>(value);
    case DType::i8: return static_cast<int8_t>(value);
    case DType::u8: return static_cast<uint8_t>(value);
    case DType::boolean: return value != 0;
    default: return value;
  }
}

// Truncates. Where C is undefined, as on CUDA and aarch64: NaN is 0, i64 and i32 saturate, narrower types
// wrap.
int64_t to_integer(double value, DType dtype);

// Calls body(double{}) for floats and body(int64_t{}) for the rest.
template <class Body>
decltype(auto) with_element(DType dtype, Body&& body) {
  if (is_floating(dtype)) return body(double{});
  return body(int64_t{});
}

}  // namespace stitch::oracle
