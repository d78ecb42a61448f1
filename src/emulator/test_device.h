// For tests: memory visible to both sides, and a device that is reset before each test. Library tests also
// run on a real GPU, against NVIDIA's libraries: nvcc -DSTITCH_ON_GPU=1.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#if !STITCH_ON_GPU
#include "stitch_emulated.h"
#endif

#if defined(__SANITIZE_ADDRESS__)
#define STITCH_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STITCH_TEST_ASAN 1
#endif
#endif
// For tests that write out of bounds on purpose.
#ifdef STITCH_TEST_ASAN
#define STITCH_SKIP_UNDER_ASAN() GTEST_SKIP() << "AddressSanitizer would end the process here"
#else
#define STITCH_SKIP_UNDER_ASAN() static_cast<void>(0)
#endif

namespace stitch::emulated {

template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count, T value = T{}) : count_(count) {
    cudaMallocManaged(&data_, count * sizeof(T));
    for (size_t i = 0; i < count; ++i) data_[i] = value;
  }
  Buffer(Buffer&& other) noexcept : data_(other.data_), count_(other.count_) { other.data_ = nullptr; }
  Buffer(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  T* get() { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  size_t size() const { return count_; }
  std::vector<T> vector() const { return {data_, data_ + count_}; }

 private:
  T* data_ = nullptr;
  size_t count_;
};

inline void reset_device() {
#if !STITCH_ON_GPU
  cudaDeviceReset();
  stitch_emulated_set_order("forward");
  stitch_emulated_set_poison(0xFF);
  stitch_emulated_set_threads(2);
#endif
}

// Resets the device and the thread order before each test.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override { reset_device(); }
  void TearDown() override { reset_device(); }
};
template <class P>
class OnDeviceWith : public testing::TestWithParam<P> {
 protected:
  void SetUp() override { reset_device(); }
  void TearDown() override { reset_device(); }
};

#if !STITCH_ON_GPU
// A kernel's error and report.
struct Outcome {
  cudaError_t error;
  std::string report;
};
inline Outcome outcome() {
  cudaError_t error = cudaDeviceSynchronize();
  return {error, stitch_emulated_last_report()};
}
#endif

}  // namespace stitch::emulated
