#include "graph/type.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stitch {

namespace {
struct DTypeInfo {
  std::string_view name;
  int64_t size;
};
constexpr std::array<DTypeInfo, dtype_count> dtypes = {{
    {"f64", 8},
    {"f32", 4},
    {"f16", 2},
    {"bf16", 2},
    {"i64", 8},
    {"i32", 4},
    {"i8", 1},
    {"u8", 1},
    {"bool", 1},
}};
}  // namespace

std::string_view name(DType dtype) { return dtypes[static_cast<size_t>(dtype)].name; }
int64_t size_of(DType dtype) { return dtypes[static_cast<size_t>(dtype)].size; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < dtypes.size(); ++i)
    if (dtypes[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

bool shape_fits(const Shape& shape) {
  constexpr int64_t most = int64_t{1} << 48;
  if (shape.size() > 16) return false;
  // Zero-sized dimensions must not hide others whose strides would overflow.
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || size > most) return false;
    if (size > 1 && count > most / size) return false;
    count *= std::max<int64_t>(size, 1);
  }
  return true;
}

std::vector<int64_t> contiguous_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

std::string text(const Shape& shape) { return "[" + join(shape, ",") + "]"; }

std::string text(const TensorType& type) {
  std::string out = std::string(name(type.dtype)) + text(type.shape);
  if (!type.strides.empty()) out += "{" + join(type.strides, ",") + "}";
  return out;
}

}  // namespace stitch
