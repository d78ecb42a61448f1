// The tensors that a program expects, and the message to a caller when they differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "stitch/runtime/errors.h"

namespace stitch {
struct TensorContract {
  const char* name;
  StitchDtype dtype;
  int rank;
  int64_t shape[STITCH_MAX_RANK];
  int64_t strides[STITCH_MAX_RANK];
};

// Row-major: contract("x", STITCH_F32, {64, 1000}); scalars have no third argument.
constexpr TensorContract contract(const char* name, StitchDtype dtype) { return {name, dtype, 0, {}, {}}; }
template <size_t rank>
constexpr TensorContract contract(const char* name, StitchDtype dtype, const int64_t (&shape)[rank]) {
  static_assert(rank <= STITCH_MAX_RANK, "more dimensions than the ABI has");
  TensorContract made{name, dtype, static_cast<int>(rank), {}, {}};
  int64_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    made.shape[i] = shape[i];
    made.strides[i] = step;
    step *= shape[i] > 1 ? shape[i] : 1;
  }
  return made;
}
template <size_t rank>
constexpr TensorContract contract(const char* name, StitchDtype dtype, const int64_t (&shape)[rank],
                                  const int64_t (&strides)[rank]) {
  TensorContract made = contract(name, dtype, shape);
  for (size_t i = 0; i < rank; ++i) made.strides[i] = strides[i];
  return made;
}
template <class... Contracts>
constexpr std::array<TensorContract, sizeof...(Contracts)> contracts(Contracts... each) {
  return {each...};
}

inline size_t element_size(int dtype) {
  switch (dtype) {
    case STITCH_F64:
    case STITCH_I64: return 8;
    case STITCH_F32:
    case STITCH_I32: return 4;
    case STITCH_F16:
    case STITCH_BF16: return 2;
    default: return 1;
  }
}

template <class Tensor>
int64_t element_count(const Tensor& tensor) {
  int64_t count = 1;
  for (int i = 0; i < tensor.rank; ++i) count *= tensor.shape[i];
  return count;
}

// Strides of dimensions of size one, and of empty tensors, don't matter.
inline bool same_layout(const TensorContract& expected, const StitchTensor& given) {
  if (element_count(expected) == 0) return true;
  for (int i = 0; i < expected.rank; ++i)
    if (expected.shape[i] > 1 && expected.strides[i] != given.strides[i]) return false;
  return true;
}

inline bool is_aligned(const void* pointer, size_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

// f32[16,512], with strides as f32[16,512]{1,16}. Without <string>, which takes longer to compile than the
// rest of a small program's host code.
struct TensorText {
  char text[512] = "";
  size_t length = 0;

  template <class... Values>
  void add(const char* format, Values... values) {
    const int added = std::snprintf(text + length, sizeof text - length, format, values...);
    if (added > 0) length += static_cast<size_t>(added);
    if (length >= sizeof text) length = sizeof text - 1;
  }
  void add_list(const char* begin, const int64_t* values, int count, const char* end) {
    add("%s", begin);
    for (int i = 0; i < count; ++i) add("%s%lld", i ? "," : "", static_cast<long long>(values[i]));
    add("%s", end);
  }
};
template <class Tensor>
TensorText describe(const Tensor& tensor, bool with_strides) {
  static constexpr const char* names[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool"};
  TensorText out;
  if (tensor.rank < 0 || tensor.rank > STITCH_MAX_RANK) {
    out.add("a tensor of %d dimensions", static_cast<int>(tensor.rank));
    return out;
  }
  if (tensor.dtype >= STITCH_F64 && tensor.dtype <= STITCH_BOOL)
    out.add("%s", names[tensor.dtype]);
  else
    out.add("dtype %d", static_cast<int>(tensor.dtype));
  out.add_list("[", tensor.shape, tensor.rank, "]");
  if (with_strides) out.add_list("{", tensor.strides, tensor.rank, "}");
  return out;
}

inline StitchStatus check_tensor(const char* kind, int index, const TensorContract& expected,
                                 const StitchTensor& given) {
  bool same_shape = expected.dtype == given.dtype && expected.rank == given.rank;
  for (int i = 0; same_shape && i < expected.rank; ++i) same_shape = expected.shape[i] == given.shape[i];
  if (!same_shape || !same_layout(expected, given)) {
    const TensorText wanted = describe(expected, same_shape), got = describe(given, same_shape);
    return fail(STITCH_BAD_ARGUMENT, "%s %d '%s': %s expected, %s given", kind, index, expected.name,
                wanted.text, got.text);
  }
  if (!given.data && element_count(expected) > 0)
    return fail(STITCH_BAD_ARGUMENT, "%s %d '%s': the data pointer is null", kind, index, expected.name);
  if (!is_aligned(given.data, element_size(given.dtype)))
    return fail(STITCH_BAD_ARGUMENT, "%s %d '%s': the data pointer %p is not aligned to its elements", kind,
                index, expected.name, given.data);
  return STITCH_OK;
}

// `kind` in messages: parameter, input, output.
template <size_t size>
StitchStatus check_tensors(const char* kind, const std::array<TensorContract, size>& expected,
                           const StitchTensor* given, int count) {
  if (count != static_cast<int>(size))
    return fail(STITCH_BAD_ARGUMENT, "%zu %ss expected, %d given", size, kind, count);
  if (size > 0 && !given) return fail(STITCH_BAD_ARGUMENT, "the list of %ss is null", kind);
  for (int i = 0; i < count; ++i)
    STITCH_OK_OR_RETURN(check_tensor(kind, i, expected[static_cast<size_t>(i)], given[i]));
  return STITCH_OK;
}

template <class T>
T* data(const StitchTensor& tensor) {
  return static_cast<T*>(tensor.data);
}

}  // namespace stitch
