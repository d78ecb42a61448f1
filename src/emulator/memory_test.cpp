#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

class Memory : public OnDevice {};

__global__ void write_at(float* x, long at) { x[at] = 1; }

TEST_F(Memory, FreshMemoryIsNaN) {
  float* x;
  ASSERT_EQ(cudaMalloc(&x, 100 * sizeof(float)), cudaSuccess);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(std::isnan(x[i]));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x) % 256, 0u);
  EXPECT_EQ(cudaFree(x), cudaSuccess);
}
TEST_F(Memory, AWriteBehindTheEndIsFoundAtSynchronisation) {
  STITCH_SKIP_UNDER_ASAN();
  float* x;
  cudaMalloc(&x, 100 * sizeof(float));
  STITCH_KERNEL(write_at).on(1, 1)(x, 100);
  Outcome got = outcome();
  EXPECT_EQ(got.error, cudaErrorIllegalAddress);
  EXPECT_NE(got.report.find("(400 bytes): written 0 bytes behind its end (offset 400)"), std::string::npos)
      << got.report;
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);  // and stays
}
TEST_F(Memory, AWriteBeforeTheStartIsFoundAtFree) {
  STITCH_SKIP_UNDER_ASAN();
  float* x;
  cudaMalloc(&x, 64);
  STITCH_KERNEL(write_at).on(1, 1)(x, -2);
  EXPECT_EQ(cudaFree(x), cudaErrorIllegalAddress);
  EXPECT_NE(std::string(stitch_emulated_last_report()).find("written 8 bytes before its start (offset -8)"),
            std::string::npos)
      << stitch_emulated_last_report();
}
TEST_F(Memory, ASingleByteIsEnough) {
  STITCH_SKIP_UNDER_ASAN();
  char* x;
  cudaMalloc(&x, 13);
  EXPECT_STREQ(stitch_emulated_check_memory(), "");
  x[13] = 0;
  EXPECT_NE(std::string(stitch_emulated_check_memory()).find("offset 13"), std::string::npos);
}
TEST_F(Memory, PoisonCopiedOverAGuardIsFound) {
  STITCH_SKIP_UNDER_ASAN();
  char *x, *y;
  cudaMalloc(&x, 16);
  cudaMalloc(&y, 16);
  std::memcpy(y + 16, x, 4);
  EXPECT_STRNE(stitch_emulated_check_memory(), "");
}
__global__ void add_up(const float* x, long from, long to, float* sum) {
  for (long i = from; i < to; ++i) *sum += x[i];
}
TEST_F(Memory, AFenceIsWhereTheMemoryEnds) {
  STITCH_SKIP_UNDER_ASAN();
  constexpr long count = 1003;
  Buffer<float> sum(1, 0);
  for (int before : {0, 1}) {
    auto* x =
        static_cast<float*>(stitch_emulated_malloc_fenced(count * sizeof(float), sizeof(float), before));
    ASSERT_NE(x, nullptr);
    ASSERT_EQ(cudaMemset(x, 0, count * sizeof(float)), cudaSuccess);
    STITCH_KERNEL(add_up).on(1, 1)(x, 0, count, sum.get());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(sum[0], 0);
    EXPECT_EXIT(
        {
          STITCH_KERNEL(add_up).on(1, 1)(x, before ? -1 : 0, before ? 0 : count + 1, sum.get());
          std::exit(0);
        },
        testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EQ(cudaFree(x), cudaSuccess);
  }
  auto* x = static_cast<char*>(stitch_emulated_malloc_fenced(100, 1, 0));
  char y[200];
  EXPECT_NE(cudaMemcpy(y, x, 101, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_NE(outcome().report.find("1 bytes behind a tensor of 100 bytes"), std::string::npos);
}
TEST_F(Memory, FreeingTwiceOrWhatWasNeverAllocatedIsAnError) {
  void* x;
  cudaMalloc(&x, 16);
  EXPECT_EQ(cudaFree(x), cudaSuccess);
  EXPECT_EQ(cudaFree(x), cudaErrorInvalidValue);
  int local;
  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  cudaMalloc(&x, 16);
  EXPECT_EQ(cudaFreeHost(x), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(static_cast<char*>(x) + 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}
TEST_F(Memory, TheLimitIsKept) {
  stitch_emulated_set_memory(1 << 20);
  void *x, *y;
  EXPECT_EQ(cudaMalloc(&x, 600 << 10), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&y, 600 << 10), cudaErrorMemoryAllocation);
  EXPECT_EQ(y, nullptr);
  size_t free_bytes, total;
  cudaMemGetInfo(&free_bytes, &total);
  EXPECT_EQ(free_bytes, (1024u - 600u) << 10);
  EXPECT_EQ(cudaFree(x), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&y, 600 << 10), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&x, ~size_t{0} - 10), cudaErrorMemoryAllocation);
  stitch_emulated_set_memory(size_t{139} << 30);
}
TEST_F(Memory, CopiesCheckTheirAddresses) {
  int host[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {};
  int* x;
  cudaMalloc(&x, sizeof host);
  EXPECT_EQ(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(back, x, sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::memcmp(host, back, sizeof host), 0);
  EXPECT_EQ(cudaMemcpy(x, host, sizeof host + 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(back, x + 4, sizeof host, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(back, host, sizeof host, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(back, x, sizeof host, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemset(x, 0, sizeof host + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(x, 0xFF, sizeof host), cudaSuccess);
  EXPECT_EQ(x[7], -1);
}
TEST_F(Memory, CopiesOfRows) {
  int* x;
  size_t pitch;
  ASSERT_EQ(cudaMallocPitch(reinterpret_cast<void**>(&x), &pitch, 12, 3), cudaSuccess);
  EXPECT_GE(pitch, 12u);
  int host[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, back[9] = {};
  EXPECT_EQ(cudaMemcpy2D(x, pitch, host, 12, 12, 3, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(back, 12, x, pitch, 12, 3, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::memcmp(host, back, sizeof host), 0);
  EXPECT_EQ(cudaMemcpy2D(back, 8, x, pitch, 12, 3, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
}
TEST_F(Memory, HostAndManagedMemoryAreKnown) {
  float *host, *managed, *device;
  ASSERT_EQ(cudaMallocHost(&host, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&device, 64, nullptr), cudaSuccess);
  cudaPointerAttributes a;
  cudaPointerGetAttributes(&a, host + 3);
  EXPECT_EQ(a.type, cudaMemoryTypeHost);
  cudaPointerGetAttributes(&a, managed);
  EXPECT_EQ(a.type, cudaMemoryTypeManaged);
  cudaPointerGetAttributes(&a, device);
  EXPECT_EQ(a.type, cudaMemoryTypeDevice);
  cudaPointerGetAttributes(&a, &a);
  EXPECT_EQ(a.type, cudaMemoryTypeUnregistered);
  int mine[4];
  EXPECT_EQ(cudaHostRegister(mine, sizeof mine, 0), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(device, mine, sizeof mine, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(mine), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(device, nullptr), cudaSuccess);
  EXPECT_EQ(stitch_emulated_allocation_count(), 1u);
}

__constant__ float weights[4];
__device__ int counter;
__global__ void use_symbols(float* out) {
  out[threadIdx.x] = weights[threadIdx.x] * static_cast<float>(atomicAdd(&counter, 1) >= 0);
}
TEST_F(Memory, SymbolsAreCopiedToAndFrom) {
  const float host[4] = {1, 2, 3, 4};
  ASSERT_EQ(cudaMemcpyToSymbol(weights, host, sizeof host), cudaSuccess);
  const float nine = 9;
  ASSERT_EQ(cudaMemcpyToSymbol(weights, &nine, 4, 8), cudaSuccess);
  const int zero = 0;
  cudaMemcpyToSymbol(counter, &zero, sizeof zero);
  Buffer<float> out(4);
  STITCH_KERNEL(use_symbols).on(1, 4)(out.get());
  EXPECT_EQ(out[2], 9);
  int count = -1;
  ASSERT_EQ(cudaMemcpyFromSymbol(&count, counter, sizeof count), cudaSuccess);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(cudaMemcpyToSymbol(weights, host, 20), cudaErrorInvalidValue);
  void* address;
  ASSERT_EQ(cudaGetSymbolAddress(&address, weights), cudaSuccess);
  EXPECT_EQ(address, weights);
}

}  // namespace
}  // namespace stitch::emulated
