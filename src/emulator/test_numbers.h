// For tests of the libraries: buffers of any element type, with values that every type represents closely.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <random>

#include "emulator/test_device.h"

namespace stitch::emulated {

enum class Type { f64, f32, f16, bf16, e4m3, i8, i32 };

inline size_t size_of(Type type) {
  constexpr size_t sizes[] = {8, 4, 2, 2, 1, 1, 4};
  return sizes[static_cast<int>(type)];
}
// Spacing of numbers around 1.
inline double spacing(Type type) {
  constexpr double all[] = {2.3e-16, 1.2e-7, 9.8e-4, 7.9e-3, 0.13, 1, 1};
  return all[static_cast<int>(type)];
}

class Numbers {
 public:
  Numbers(Type type, size_t count)
      : type_(type), count_(count), memory_(std::max<size_t>(1, count) * size_of(type)) {
    for (size_t i = 0; i < count; ++i) set(i, 0);
  }
  // Between -1 and 1 (integers: -9 to 9), deterministic in the seed.
  static Numbers random(Type type, size_t count, unsigned seed) {
    Numbers out(type, count);
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> real(-1, 1);
    const bool whole = type == Type::i8 || type == Type::i32;
    for (size_t i = 0; i < count; ++i) out.set(i, whole ? std::round(9 * real(generator)) : real(generator));
    return out;
  }
  Numbers(Numbers&&) = default;
  void* get() { return memory_.get(); }
  size_t size() const { return count_; }
  Type type() const { return type_; }
  void set(size_t i, double value) {
    void* at = memory_.get() + i * size_of(type_);
    switch (type_) {
      case Type::f64: *static_cast<double*>(at) = value; break;
      case Type::f32: *static_cast<float*>(at) = static_cast<float>(value); break;
      case Type::f16: *static_cast<__half*>(at) = __float2half(static_cast<float>(value)); break;
      case Type::bf16: *static_cast<__nv_bfloat16*>(at) = __float2bfloat16(static_cast<float>(value)); break;
      case Type::e4m3: *static_cast<__nv_fp8_e4m3*>(at) = __nv_fp8_e4m3(static_cast<float>(value)); break;
      case Type::i8: *static_cast<signed char*>(at) = static_cast<signed char>(value); break;
      case Type::i32: *static_cast<int*>(at) = static_cast<int>(value); break;
    }
  }
  double operator[](size_t i) {
    void* at = memory_.get() + i * size_of(type_);
    switch (type_) {
      case Type::f64: return *static_cast<double*>(at);
      case Type::f32: return *static_cast<float*>(at);
      case Type::f16: return __half2float(*static_cast<__half*>(at));
      case Type::bf16: return __bfloat162float(*static_cast<__nv_bfloat16*>(at));
      case Type::e4m3: return static_cast<float>(*static_cast<__nv_fp8_e4m3*>(at));
      case Type::i8: return *static_cast<signed char*>(at);
      default: return *static_cast<int*>(at);
    }
  }

 private:
  Type type_;
  size_t count_;
  Buffer<unsigned char> memory_;
};

// Captures a stream and replays it.
template <class F>
void replay(cudaStream_t stream, int times, F&& what) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  what();
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0ull), cudaSuccess);
  for (int i = 0; i < times; ++i) ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

}  // namespace stitch::emulated
