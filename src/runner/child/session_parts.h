// Shared by the session's files.
#pragma once

#include <bit>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "runner/child/guarded_buffer.h"
#include "stitch/program.h"

namespace stitch::runner {

// The device is unusable: the last answer.
struct Fault {
  std::string message;
};

// Around code of the program, where its tensors are fenced so.
class ClosedToHost {
 public:
  ClosedToHost(Backend& backend, Fence fence) : backend_(fence == Fence::host ? &backend : nullptr) {
    if (backend_) backend_->close_to_host(true);
  }
  ClosedToHost(const ClosedToHost&) = delete;
  ClosedToHost& operator=(const ClosedToHost&) = delete;
  ~ClosedToHost() {
    if (backend_) backend_->close_to_host(false);
  }

 private:
  Backend* backend_;
};

template <class T>
T value_or_fault(Result<T> result) {
  if (!result) throw Fault{result.error().text()};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Not std::chrono: this call is resolved at start-up, before a candidate could interpose its own.
inline int64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Contents don't matter for timing, but indices must be in range: small floats, zeros for the rest.
inline uint32_t any_content(DType dtype) {
  constexpr uint32_t small = 0x3c3c3c3c;  // 0.011 in FP32, 1.06 in fp16
  return is_floating(dtype) ? small : 0;
}

inline StitchTensor as_argument(const GuardedBuffer& buffer) {
  const TensorType& type = buffer.type();
  StitchTensor out{};
  out.data = std::bit_cast<void*>(buffer.address());
  out.dtype = static_cast<int32_t>(type.dtype);  // StitchDtype lists them in the same order
  out.rank = static_cast<int32_t>(type.rank());
  const std::vector<int64_t> strides = contiguous_strides(type.shape);
  for (size_t i = 0; i < type.shape.size() && i < STITCH_MAX_RANK; ++i) {
    out.shape[i] = type.shape[i];
    out.strides[i] = strides[i];
  }
  return out;
}
static_assert(static_cast<int>(DType::f64) == STITCH_F64 && static_cast<int>(DType::bf16) == STITCH_BF16 &&
              static_cast<int>(DType::i64) == STITCH_I64 && static_cast<int>(DType::boolean) == STITCH_BOOL);

inline std::vector<StitchTensor> as_arguments(const std::vector<GuardedBuffer>& buffers) {
  std::vector<StitchTensor> out;
  for (const GuardedBuffer& buffer : buffers) out.push_back(as_argument(buffer));
  return out;
}

inline Json ok_answer() { return {{"ok", true}}; }

}  // namespace stitch::runner
