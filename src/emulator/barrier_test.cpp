#include <cuda_pipeline.h>
#include <algorithm>
#include <cuda/barrier>
#include <utility>

#include <numeric>

#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

class Barrier : public OnDeviceWith<unsigned> {};

__global__ void rotate(const int* in, int* out, int rounds) {
  __shared__ int values[1024];
  const unsigned i = threadIdx.x, n = blockDim.x;
  int mine = in[blockIdx.x * n + i];
  for (int r = 0; r < rounds; ++r) {
    values[i] = mine;
    __syncthreads();
    mine = values[(i + 1) % n];
    __syncthreads();
  }
  out[blockIdx.x * n + i] = mine;
}
TEST_P(Barrier, EveryThreadSeesWhatTheOthersWrote) {
  const unsigned threads = GetParam();
  for (const char* order : {"forward", "reverse", "shuffle:1", "shuffle:2", "lag:1", "lag:2"}) {
    stitch_emulated_set_order(order);
    Buffer<int> in(4 * threads), out(4 * threads);
    for (unsigned i = 0; i < 4 * threads; ++i) in[i] = static_cast<int>(i);
    STITCH_KERNEL(rotate).on(4, threads)(in.get(), out.get(), 3);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned b = 0; b < 4; ++b)
      for (unsigned i = 0; i < threads; ++i)
        ASSERT_EQ(out[b * threads + i], static_cast<int>(b * threads + (i + 3) % threads)) << order;
  }
}

__global__ void leave_early(int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x % 3 == 1) return;  // and never comes back
  atomicAdd(&sum, 1);
  __syncthreads();
  if (threadIdx.x % 3 == 2) return;
  __syncthreads();
  out[threadIdx.x] = sum;
}
TEST_P(Barrier, ThreadsThatEndedCountAsArrived) {
  const unsigned threads = GetParam();
  Buffer<int> out(threads);
  STITCH_KERNEL(leave_early).on(1, threads)(out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  int stay = 0;
  for (unsigned i = 0; i < threads; ++i) stay += i % 3 != 1;
  for (unsigned i = 0; i < threads; i += 3) EXPECT_EQ(out[i], stay);
}

__global__ void block_votes(int* count, int* all, int* any) {
  const unsigned i = threadIdx.x;
  count[i] = __syncthreads_count(i % 5 == 0);
  all[i] = __syncthreads_and(i < blockDim.x - 1);
  any[i] = __syncthreads_or(i == blockDim.x - 1);
}
TEST_P(Barrier, CountsAndVotes) {
  const unsigned threads = GetParam();
  Buffer<int> count(threads), all(threads), any(threads);
  STITCH_KERNEL(block_votes).on(1, threads)(count.get(), all.get(), any.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned i = 0; i < threads; ++i) {
    EXPECT_EQ(count[i], static_cast<int>((threads + 4) / 5));
    EXPECT_EQ(all[i], 0);
    EXPECT_EQ(any[i], 1);
  }
}
INSTANTIATE_TEST_SUITE_P(All, Barrier, testing::Values(1u, 7u, 32u, 33u, 64u, 100u, 256u, 1024u));

__global__ void wait_in_both_branches(int* out) {
  if (threadIdx.x % 2) {
    __syncthreads();
    out[threadIdx.x] = 1;
  } else {
    __syncthreads();
    out[threadIdx.x] = 2;
  }
}
TEST(Barriers, InTwoPlacesAreTwo) {
  reset_device();
  Buffer<int> out(64);
  STITCH_KERNEL(wait_in_both_branches).on(1, 64)(out.get());
  const Outcome seen = outcome();
  EXPECT_EQ(seen.error, cudaErrorLaunchFailure);
  EXPECT_NE(seen.report.find("have to reach the same barrier"), std::string::npos) << seen.report;
  reset_device();
}

class Block : public OnDevice {};

__global__ void producers_and_consumers(int* out) {
  __shared__ int values[64];
  const int i = static_cast<int>(threadIdx.x);
  if (i < 64) {
    values[i] = i * i;
    stitch_named_barrier_arrive(1, 128);
  } else {
    stitch_named_barrier_sync(1, 128);
    out[i - 64] = values[127 - i];
  }
}
TEST_F(Block, NamedBarriersPassWorkOn) {
  for (const char* order : {"forward", "reverse", "shuffle:3", "lag:3", "lag:4"}) {
    stitch_emulated_set_order(order);
    Buffer<int> out(64);
    STITCH_KERNEL(producers_and_consumers).on(1, 128)(out.get());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], (63 - i) * (63 - i));
  }
}
// The first warp passes numbers on by a flag; without `asks`, nothing ensures that the third has read them.
__global__ void hands_numbers_on(int* out, bool asks) {
  __shared__ int number;
  __shared__ volatile int written, seen, read;
  if (threadIdx.x == 0) {
    written = 0;
    seen = 0;
    read = 0;
  }
  __syncthreads();
  if (threadIdx.x % 32) return;
  for (int i = 0; i < 8; ++i) {
    if (threadIdx.x == 0) {
      while (seen < i || (asks && read < i)) __nanosleep(1);
      number = i;
      written = i + 1;
    } else {
      while (written <= i) __nanosleep(1);
      if (threadIdx.x == 32) {
        seen = i + 1;
      } else {
        out[i] = number;
        read = i + 1;
      }
    }
  }
}
TEST_F(Block, LateWarpsShowWhoIsNotWaitedFor) {
  Buffer<int> out(8);
  auto wrong = [&](const char* order, bool asks) {
    stitch_emulated_set_order(order);
    int count = 0;
    for (int call = 0; call < 8; ++call) {
      STITCH_KERNEL(hands_numbers_on).on(1, 96)(out.get(), asks);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      for (int i = 0; i < 8; ++i) count += out[i] != i;
    }
    return count;
  };
  for (const char* order : {"forward", "reverse", "shuffle:1"}) EXPECT_EQ(wrong(order, false), 0) << order;
  EXPECT_GT(wrong("lag:1", false), 0);
  EXPECT_EQ(wrong("lag:1", true), 0);
}
__global__ void odd_named_barrier() { stitch_named_barrier_sync(1, 33); }
TEST_F(Block, ANamedBarrierOfAnOddCountIsReported) {
  STITCH_KERNEL(odd_named_barrier).on(1, 33)();
  EXPECT_EQ(outcome().error, cudaErrorLaunchFailure);
}

__global__ void lonely_barrier() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    stitch_named_barrier_sync(3, 64);
}
TEST_F(Block, DifferentBarriersAreReportedNotWaitedFor) {
  STITCH_KERNEL(lonely_barrier).on(1, 64)();
  const int line = __LINE__;
  Outcome got = outcome();
  EXPECT_EQ(got.error, cudaErrorLaunchFailure);
  EXPECT_EQ(got.report,
            "kernel lonely_barrier, block (0,0,0): its threads wait for each other at different places: "
            "threads 0-31 wait at __syncthreads (line " +
                std::to_string(line - 6) + "); threads 32-63 wait at named barrier 3 (line " +
                std::to_string(line - 4) + ")");
}
__global__ void shuffle_and_barrier() {
  if (threadIdx.x == 5)
    __syncthreads();
  else
    __shfl_sync(0xffffffffu, 1, 0);
}
TEST_F(Block, AShuffleThatOneLaneMissesIsReported) {
  STITCH_KERNEL(shuffle_and_barrier).on(1, 32)();
  Outcome got = outcome();
  EXPECT_EQ(got.error, cudaErrorLaunchFailure);
  EXPECT_NE(got.report.find("threads 0-4, 6-31 wait at __shfl_sync"), std::string::npos) << got.report;
  EXPECT_NE(got.report.find("mask 0xffffffff"), std::string::npos) << got.report;
  EXPECT_NE(got.report.find("thread 5 waits at __syncthreads"), std::string::npos) << got.report;
}
__global__ void different_masks() { __syncwarp(threadIdx.x < 16 ? 0xffffffffu : 0xffff0001u); }
TEST_F(Block, MasksThatDisagreeAreReported) {
  STITCH_KERNEL(different_masks).on(1, 32)();
  EXPECT_EQ(outcome().error, cudaErrorLaunchFailure);
}
TEST_F(Block, AFailedKernelBreaksTheDeviceUntilItIsReset) {
  STITCH_KERNEL(different_masks).on(3, 32)();
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  void* p;
  EXPECT_EQ(cudaMalloc(&p, 4), cudaErrorLaunchFailure);
  cudaDeviceReset();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&p, 4), cudaSuccess);
  Buffer<int> in(32), out(32);
  STITCH_KERNEL(rotate).on(1, 32)(in.get(), out.get(), 1);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

__global__ void missing_barrier(int* out) {
  __shared__ int values[64];
  STITCH_FRESH(values);  // the rewriter adds this: data of the previous launch would hide the mistake
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  // __syncthreads() is missing here.
  out[threadIdx.x] = values[63 - threadIdx.x];
}
TEST_F(Block, AMissingBarrierShowsInTheOrder) {
  Buffer<int> forward(64), reverse(64);
  STITCH_KERNEL(missing_barrier).on(1, 64)(forward.get());
  stitch_emulated_set_order("reverse");
  STITCH_KERNEL(missing_barrier).on(1, 64)(reverse.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_NE(forward.vector(), reverse.vector());
}
__global__ void second_barrier_missing(int* out) {
  __shared__ int value;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (threadIdx.x == 0) value = i;
    __syncthreads();
    sum = sum * 10 + value;
    // Thread 0 overwrites what the others still read.
  }
  out[threadIdx.x] = sum;
}
TEST_F(Block, AMissingBarrierInALoopShowsInTheOrder) {
  Buffer<int> forward(64), reverse(64);
  STITCH_KERNEL(second_barrier_missing).on(1, 64)(forward.get());
  stitch_emulated_set_order("reverse");
  STITCH_KERNEL(second_barrier_missing).on(1, 64)(reverse.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_NE(forward.vector(), reverse.vector());
}

__global__ void record_order(int* next, int* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1);
}
TEST_F(Block, OrdersAreWhatTheirNamesSay) {
  stitch_emulated_set_threads(1);
  Buffer<int> next(1), out(64);
  STITCH_KERNEL(record_order).on(2, 32)(next.get(), out.get());
  std::vector<int> want(64);
  std::iota(want.begin(), want.end(), 0);
  EXPECT_EQ(out.vector(), want);
  next[0] = 0;
  stitch_emulated_set_order("reverse");
  STITCH_KERNEL(record_order).on(2, 32)(next.get(), out.get());
  std::reverse(want.begin(), want.end());
  EXPECT_EQ(out.vector(), want);
  next[0] = 0;
  stitch_emulated_set_order("shuffle:5");
  STITCH_KERNEL(record_order).on(2, 32)(next.get(), out.get());
  std::vector<int> first = out.vector();
  next[0] = 0;
  STITCH_KERNEL(record_order).on(2, 32)(next.get(), out.get());
  EXPECT_EQ(out.vector(), first);
  std::sort(first.begin(), first.end());
  std::reverse(want.begin(), want.end());
  EXPECT_EQ(first, want);
  EXPECT_NE(stitch_emulated_set_order("sideways"), 0);
}

__global__ void spin_lock(int* lock, int* count) {
  // Thread 0 waits for a flag that the last thread sets, though it runs long before it.
  if (threadIdx.x == 0) {
    while (atomicAdd(lock, 0) == 0) {
    }
    *count = 1;
  } else if (threadIdx.x == blockDim.x - 1) {
    atomicExch(lock, 1);
  }
}
TEST_F(Block, AThreadThatSpinsLetsTheOthersRun) {
  Buffer<int> lock(1), count(1);
  STITCH_KERNEL(spin_lock).on(1, 128)(lock.get(), count.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(count[0], 1);
}

__global__ void with_cuda_barrier(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int values[128];
  if (threadIdx.x == 0) init(&bar, static_cast<ptrdiff_t>(blockDim.x));
  __syncthreads();
  for (int round = 0; round < 3; ++round) {
    int source = static_cast<int>(threadIdx.x) + round;
    cuda::memcpy_async(&values[threadIdx.x], &source, sizeof(int), bar);
    bar.arrive_and_wait();
    out[threadIdx.x] = values[(threadIdx.x + 1) % blockDim.x];
    auto token = bar.arrive();
    bar.wait(std::move(token));
  }
}
TEST_F(Block, CudaBarrierAndAsynchronousCopies) {
  for (const char* order : {"forward", "reverse"}) {
    stitch_emulated_set_order(order);
    Buffer<int> out(128);
    STITCH_KERNEL(with_cuda_barrier).on(1, 128)(out.get());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 128; ++i) EXPECT_EQ(out[i], (i + 1) % 128 + 2);
  }
}
__global__ void pipeline_copies(const float4* in, float4* out) {
  __shared__ float4 stage[32];
  __pipeline_memcpy_async(&stage[threadIdx.x], &in[threadIdx.x], 16, threadIdx.x == 3 ? 8 : 0);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = stage[31 - threadIdx.x];
}
TEST_F(Block, PipelinePrimitivesCopyAndZeroFill) {
  Buffer<float4> in(32, float4{1, 2, 3, 4}), out(32);
  STITCH_KERNEL(pipeline_copies).on(1, 32)(in.get(), out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out[0].w, 4);
  EXPECT_EQ(out[28].y, 2);
  EXPECT_EQ(out[28].z, 0);
}

__global__ void traps() {
  if (threadIdx.x == 3 && blockIdx.x == 1) __trap();
}
TEST_F(Block, ATrapSaysWhoTrapped) {
  STITCH_KERNEL(traps).on(2, 32)();
  Outcome got = outcome();
  EXPECT_EQ(got.error, cudaErrorLaunchFailure);
  EXPECT_NE(got.report.find("kernel traps, block (1,0,0), thread (3,0,0): __trap"), std::string::npos)
      << got.report;
}
__global__ void asserts(int n) { stitch_emulated::assertion_failed("n > 0", "file.cu", 12, n ? "a" : "b"); }
TEST_F(Block, AnAssertFailsTheKernelNotTheProcess) {
  STITCH_KERNEL(asserts).on(1, 1)(0);
  Outcome got = outcome();
  EXPECT_EQ(got.error, cudaErrorAssert);
  EXPECT_NE(got.report.find("assertion `n > 0` failed (file.cu:12)"), std::string::npos) << got.report;
}

}  // namespace
}  // namespace stitch::emulated
