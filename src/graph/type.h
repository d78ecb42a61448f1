// A tensor's element type and static shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stitch {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, i8, u8, boolean };
inline constexpr int dtype_count = 9;

std::string_view name(DType dtype);
std::optional<DType> parse_dtype(std::string_view text);
int64_t size_of(DType dtype);
inline bool is_floating(DType dtype) { return dtype <= DType::bf16; }
inline bool is_integer(DType dtype) { return dtype >= DType::i64 && dtype <= DType::u8; }

using Shape = std::vector<int64_t>;

// Can't overflow for shapes that pass `shape_fits`.
int64_t element_count(const Shape& shape);
// No negative dimension, at most 16 of them, fewer than 2^48 elements.
bool shape_fits(const Shape& shape);
std::vector<int64_t> contiguous_strides(const Shape& shape);

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  // Empty: contiguous, row-major. Only graph inputs may have others.
  std::vector<int64_t> strides;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t elements() const { return element_count(shape); }
  int64_t bytes() const { return elements() * size_of(dtype); }
  bool operator==(const TensorType&) const = default;
};

// f32[2,3,224,224], or f32[3,5]{1,3} with strides.
std::string text(const TensorType& type);
std::string text(const Shape& shape);

}  // namespace stitch
