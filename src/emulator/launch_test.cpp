#include <cstring>
#include <utility>

#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

class Launch : public OnDevice {};

__global__ void nothing() {}
__global__ void indices(uint3* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = {thread, block, blockDim.y};
}
TEST_F(Launch, EveryThreadOfEveryBlockRunsOnce) {
  Buffer<uint3> out(2 * 3 * 4 * 5 * 6 * 2);
  STITCH_KERNEL(indices).on(dim3(2, 3, 4), dim3(5, 6, 2))(out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i].x, i % 60);
    EXPECT_EQ(out[i].y, i / 60);
    EXPECT_EQ(out[i].z, 6u);
  }
}

struct BadConfig {
  const char* name;
  dim3 grid, block;
  size_t shared;
  cudaError_t error;
};
class BadLaunch : public OnDeviceWith<BadConfig> {};
TEST_P(BadLaunch, IsRefusedOnceAndNotSticky) {
  const BadConfig& p = GetParam();
  STITCH_KERNEL(nothing).on(p.grid, p.block, p.shared)();
  EXPECT_EQ(cudaPeekAtLastError(), p.error);
  EXPECT_EQ(cudaGetLastError(), p.error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}
INSTANTIATE_TEST_SUITE_P(
    All, BadLaunch,
    testing::Values(BadConfig{"TooManyThreads", 1, 1025, 0, cudaErrorInvalidConfiguration},
                    BadConfig{"TooManyThreadsTogether", 1, dim3(32, 33), 0, cudaErrorInvalidConfiguration},
                    BadConfig{"TooDeep", 1, dim3(1, 1, 65), 0, cudaErrorInvalidConfiguration},
                    BadConfig{"NoBlocks", 0, 32, 0, cudaErrorInvalidConfiguration},
                    BadConfig{"NoThreads", 1, 0, 0, cudaErrorInvalidConfiguration},
                    BadConfig{"GridTooWide", 0x80000000u, 32, 0, cudaErrorInvalidConfiguration},
                    BadConfig{"GridTooHigh", dim3(1, 65536), 32, 0, cudaErrorInvalidConfiguration},
                    BadConfig{"GridTooDeep", dim3(1, 1, 65536), 32, 0, cudaErrorInvalidConfiguration},
                    BadConfig{"SharedWithoutOptIn", 1, 32, 48 * 1024 + 1, cudaErrorInvalidValue},
                    BadConfig{"SharedBeyondAll", 1, 32, 300 * 1024, cudaErrorInvalidValue}),
    [](const auto& info) { return info.param.name; });

__global__ void first(const int* from, int* to) { *to = *from; }
struct Pointers {
  const int* from;
  int* to;
};
__global__ void first_of(Pointers pointers) { *pointers.to = *pointers.from; }
TEST_F(Launch, TakesNoPointersToTheHostsMemory) {
  Buffer<int> out(1);
  static int global = 3;
  int local = 4;
  const std::vector<int> heap(100, 5);
  for (const int* from : {&std::as_const(global), &std::as_const(local), heap.data()}) {
    STITCH_KERNEL(first).on(1, 1)(from, out.get());
    Outcome seen = outcome();
    EXPECT_EQ(seen.error, cudaErrorIllegalAddress);
    EXPECT_NE(seen.report.find("argument 1 points to the host's memory"), std::string::npos) << seen.report;
    reset_device();
  }
  Buffer<int> in(1, 6), result(1);
  STITCH_KERNEL(first_of).on(1, 1)(Pointers{&local, result.get()});
  EXPECT_EQ(outcome().error, cudaErrorIllegalAddress);
  reset_device();
  Buffer<int> again(1, 6), to(1);
  STITCH_KERNEL(first_of).on(1, 1)(Pointers{again.get(), to.get()});
  EXPECT_EQ(outcome().error, cudaSuccess);
  EXPECT_EQ(to[0], 6);
}

struct Nothing {};
struct Padded {
  int* to;
  Nothing nothing;
};
__global__ void through_padded(Padded padded) { *padded.to = 7; }
TEST_F(Launch, TakesWhatPaddingHoldsForNoPointer) {
  Buffer<int> out(1);
  int local = 4;
  alignas(Padded) const void* words[2] = {out.get(), &local};
  Padded padded;
  std::memcpy(static_cast<void*>(&padded), words, sizeof padded);
  STITCH_KERNEL(through_padded).on(1, 1)(padded);
  EXPECT_EQ(outcome().error, cudaSuccess);
  EXPECT_EQ(out[0], 7);
}

__global__ void much_shared(float* out) {
  __shared__ float values[12289];
  STITCH_FRESH(values);
  values[threadIdx.x] = 1;
  out[threadIdx.x] = values[threadIdx.x];
}
TEST_F(Launch, HasNoMoreStaticSharedMemoryThanPtxasAccepts) {
  Buffer<float> out(32);
  STITCH_KERNEL(much_shared).on(1, 32)(out.get());
  const Outcome seen = outcome();
  EXPECT_EQ(seen.error, cudaErrorLaunchOutOfResources);
  EXPECT_NE(seen.report.find("49156 bytes of static shared memory"), std::string::npos) << seen.report;
}

__global__ void dynamic(float* out, int n) {
  float* values = static_cast<float*>(::stitch_emulated::dynamic_shared());
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    values[i] = static_cast<float>(i);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = values[n - 1];
}
TEST_F(Launch, DynamicSharedMemoryBeyond48KNeedsOptIn) {
  Buffer<float> out(2);
  const int n = 25000;
  const int bytes = n * 4;
  STITCH_KERNEL(dynamic).on(2, 64, static_cast<size_t>(bytes))(out.get(), n);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), cudaSuccess);
  cudaGetLastError();
  STITCH_KERNEL(dynamic).on(2, 64, static_cast<size_t>(bytes))(out.get(), n);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out[1], n - 1);
}
__global__ void read_fresh_shared(float* out) {
  out[blockIdx.x] = static_cast<float*>(::stitch_emulated::dynamic_shared())[3];
}
TEST_F(Launch, FreshDynamicSharedMemoryIsNaN) {
  Buffer<float> out(3);
  STITCH_KERNEL(read_fresh_shared).on(3, 1, 64)(out.get());
  for (size_t i = 0; i < 3; ++i) EXPECT_NE(out[i], out[i]);
}

template <class T, int N>
__global__ void shared_in_template(T* out) {
  __shared__ T values[N];
  values[threadIdx.x] = static_cast<T>(threadIdx.x) / 2;
  __syncthreads();
  out[threadIdx.x] = values[N - 1 - threadIdx.x];
}
TEST_F(Launch, StaticSharedMemoryOfTemplatesIsTheirOwn) {
  Buffer<float> f(64);
  Buffer<int> i(32);
  STITCH_KERNEL(shared_in_template<float, 64>).on(1, 64)(f.get());
  STITCH_KERNEL(shared_in_template<int, 32>).on(1, 32)(i.get());
  EXPECT_EQ(f[0], 31.5f);
  EXPECT_EQ(i[0], 15);
}

template <class T>
__global__ void scale(const T* in, T* out, T factor, size_t n) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factor;
}
TEST_F(Launch, TemplateArgumentsAreDeducedFromTheCall) {
  Buffer<float> in(100, 2.0f), out(100);
  STITCH_KERNEL(scale).on(4, 32)(in.get(), out.get(), 3.0f, 100);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out[99], 6.0f);
}
__global__ void overloaded(int* out) { *out = 1; }
__global__ void overloaded(float* out) { *out = 2; }
TEST_F(Launch, OverloadsAreChosenByTheCall) {
  Buffer<int> i(1);
  Buffer<float> f(1);
  STITCH_KERNEL(overloaded).on(1, 1)(i.get());
  STITCH_KERNEL(overloaded).on(1, 1)(f.get());
  EXPECT_EQ(i[0], 1);
  EXPECT_EQ(f[0], 2);
}
struct Shape {
  int rows, columns;
};
__global__ void takes_much(Shape shape, double x, const float* nothing_here, char c, float3 v, float* out) {
  out[0] = static_cast<float>(shape.rows * shape.columns) + static_cast<float>(x) + static_cast<float>(c) +
           v.z + (nothing_here ? 1000.0f : 0.0f);
}
TEST_F(Launch, ArgumentsConvertAsInACall) {
  Buffer<float> out(1);
  STITCH_KERNEL(takes_much).on(1, 1)({3, 4}, 1, nullptr, 2, {1, 2, 3}, out.get());
  EXPECT_EQ(out[0], 12 + 1 + 2 + 3);
  auto* pointer = &takes_much;
  STITCH_KERNEL(pointer).on(1, 1)({1, 1}, 0, nullptr, 0, {0, 0, 0}, out.get());
  EXPECT_EQ(out[0], 1);
}
TEST_F(Launch, ByAddress) {
  Buffer<float> in(10, 2.0f), out(10);
  const float* a = in.get();
  float* b = out.get();
  float factor = 5;
  size_t n = 10;
  void* arguments[] = {&a, &b, &factor, &n};
  EXPECT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(&indices), 1, 32, arguments),
            cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(STITCH_KERNEL_POINTER(scale<float>), 1, 32, arguments), cudaSuccess);
  EXPECT_EQ(out[9], 10.0f);
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 32;
  EXPECT_EQ(cudaLaunchKernelEx(&config, scale<float>, a, b, 7.0f, n), cudaSuccess);
  EXPECT_EQ(out[9], 14.0f);
}
TEST_F(Launch, TheDeviceSaysWhatItIs) {
  cudaDeviceProp p;
  ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
  EXPECT_STREQ(p.name, "StitchCUDA emulated GPU");
  EXPECT_EQ(p.multiProcessorCount, 132);
  EXPECT_EQ(p.major, 9);
  EXPECT_EQ(p.sharedMemPerBlockOptin, 227u * 1024);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), cudaSuccess);
  EXPECT_EQ(value, 227 * 1024);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  int blocks = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 0), cudaSuccess);
  EXPECT_EQ(blocks, 8);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 128, 100 * 1024);
  EXPECT_EQ(blocks, 2);
}

}  // namespace
}  // namespace stitch::emulated
