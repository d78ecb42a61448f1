// Each warp intrinsic over masks and widths, against its definition.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <tuple>

#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

constexpr unsigned masks[] = {0xffffffffu, 0x0000ffffu, 0xaaaaaaaau, 0x00000001u, 0x80000001u, 0x7ffffffeu};

enum Kind { index, up, down, bitwise };

template <class T>
__global__ void shuffle(int kind, unsigned mask, int width, int argument, const T* in, T* out) {
  const unsigned lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  switch (kind) {
    case index: out[lane] = __shfl_sync(mask, in[lane], argument, width); break;
    case up: out[lane] = __shfl_up_sync(mask, in[lane], static_cast<unsigned>(argument), width); break;
    case down: out[lane] = __shfl_down_sync(mask, in[lane], static_cast<unsigned>(argument), width); break;
    case bitwise: out[lane] = __shfl_xor_sync(mask, in[lane], argument, width); break;
  }
}

// The lane that `lane` reads from, by the CUDA guide.
int source(int kind, int lane, int width, int argument) {
  const int first = lane / width * width, last = first + width - 1;
  switch (kind) {
    case index: return first + ((argument % width) + width) % width;
    case up: return lane - argument < first ? lane : lane - argument;
    case down: return lane + argument > last ? lane : lane + argument;
    default: return (lane ^ argument) > last ? lane : lane ^ argument;
  }
}

template <class T>
T sample(int i) {
  return static_cast<T>(static_cast<float>(i * 3 + 1));
}
template <>
__half2 sample<__half2>(int i) {
  return {__half(i), __half(i * 2)};
}
template <>
__nv_bfloat162 sample<__nv_bfloat162>(int i) {
  return {__nv_bfloat16(i), __nv_bfloat16(i + 100)};
}

template <class T>
void check_shuffle(int kind, int width, unsigned mask) {
  for (int argument : {0, 1, 2, 3, 5, 8, 15, 16, 31}) {
    Buffer<T> in(32), out(32);
    for (int i = 0; i < 32; ++i) in[i] = sample<T>(i);
    STITCH_KERNEL(shuffle<T>).on(1, 32)(kind, mask, width, argument, in.get(), out.get());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int lane = 0; lane < 32; ++lane) {
      const int from = source(kind, lane, width, argument);
      if (!(mask >> lane & 1) || !(mask >> from & 1)) continue;  // undefined
      EXPECT_EQ(std::memcmp(&out[lane], &in[from], sizeof(T)), 0)
          << "kind " << kind << " lane " << lane << " width " << width << " argument " << argument;
    }
  }
}

class Shuffle : public OnDeviceWith<std::tuple<int, int, unsigned>> {};
TEST_P(Shuffle, FollowsItsDefinitionForEveryType) {
  auto [kind, width, mask] = GetParam();
  check_shuffle<int>(kind, width, mask);
  check_shuffle<unsigned>(kind, width, mask);
  check_shuffle<long long>(kind, width, mask);
  check_shuffle<unsigned long long>(kind, width, mask);
  check_shuffle<float>(kind, width, mask);
  check_shuffle<double>(kind, width, mask);
  check_shuffle<__half>(kind, width, mask);
  check_shuffle<__half2>(kind, width, mask);
  check_shuffle<__nv_bfloat16>(kind, width, mask);
  check_shuffle<__nv_bfloat162>(kind, width, mask);
}
INSTANTIATE_TEST_SUITE_P(All, Shuffle,
                         testing::Combine(testing::Values(index, up, down, bitwise),
                                          testing::Values(1, 2, 4, 8, 16, 32), testing::ValuesIn(masks)));

struct Votes {
  unsigned ballot;
  int any, all, uni;
};
__global__ void vote(unsigned mask, unsigned predicates, Votes* out) {
  const unsigned lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  const int mine = predicates >> lane & 1;
  out[lane] = {__ballot_sync(mask, mine), __any_sync(mask, mine), __all_sync(mask, mine),
               __uni_sync(mask, mine)};
}
class Vote : public OnDeviceWith<std::tuple<unsigned, unsigned>> {};
TEST_P(Vote, FollowsItsDefinition) {
  auto [mask, predicates] = GetParam();
  Buffer<Votes> out(32);
  STITCH_KERNEL(vote).on(1, 32)(mask, predicates, out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1)) continue;
    EXPECT_EQ(out[lane].ballot, mask & predicates);
    EXPECT_EQ(out[lane].any, (mask & predicates) != 0);
    EXPECT_EQ(out[lane].all, (mask & predicates) == mask);
    EXPECT_EQ(out[lane].uni, (mask & predicates) == mask || (mask & predicates) == 0);
  }
}
INSTANTIATE_TEST_SUITE_P(All, Vote,
                         testing::Combine(testing::ValuesIn(masks),
                                          testing::Values(0u, ~0u, 0x55555555u, 1u, 0x80000000u)));

struct Reductions {
  unsigned add, min, max, bits_and, bits_or, bits_xor;
  int signed_add, signed_min, signed_max;
};
__global__ void reduce(unsigned mask, const unsigned* in, Reductions* out) {
  const unsigned lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  const unsigned u = in[lane];
  const int s = static_cast<int>(u);
  out[lane] = {__reduce_add_sync(mask, u), __reduce_min_sync(mask, u), __reduce_max_sync(mask, u),
               __reduce_and_sync(mask, u), __reduce_or_sync(mask, u),  __reduce_xor_sync(mask, u),
               __reduce_add_sync(mask, s), __reduce_min_sync(mask, s), __reduce_max_sync(mask, s)};
}
class Reduce : public OnDeviceWith<unsigned> {};
TEST_P(Reduce, FollowsItsDefinition) {
  const unsigned mask = GetParam();
  Buffer<unsigned> in(32);
  Buffer<Reductions> out(32);
  for (unsigned i = 0; i < 32; ++i) in[i] = i * 2654435761u + 12345;
  STITCH_KERNEL(reduce).on(1, 32)(mask, in.get(), out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  Reductions want{0, ~0u, 0, ~0u, 0, 0, 0, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    const unsigned u = in[i];
    want.add += u;
    want.min = std::min(want.min, u);
    want.max = std::max(want.max, u);
    want.bits_and &= u;
    want.bits_or |= u;
    want.bits_xor ^= u;
    want.signed_add = static_cast<int>(want.add);
    want.signed_min = std::min(want.signed_min, static_cast<int>(u));
    want.signed_max = std::max(want.signed_max, static_cast<int>(u));
  }
  for (int i = 0; i < 32; ++i)
    if (mask >> i & 1) {
      EXPECT_EQ(std::memcmp(&out[i], &want, sizeof want), 0);
    }
}
INSTANTIATE_TEST_SUITE_P(All, Reduce, testing::ValuesIn(masks));

template <class T>
__global__ void match(unsigned mask, const T* in, unsigned* any, unsigned* all, int* same) {
  const unsigned lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  any[lane] = __match_any_sync(mask, in[lane]);
  all[lane] = __match_all_sync(mask, in[lane], &same[lane]);
}
template <class T>
void check_match(unsigned mask, int groups) {
  Buffer<T> in(32);
  Buffer<unsigned> any(32), all(32);
  Buffer<int> same(32);
  for (int i = 0; i < 32; ++i) in[i] = static_cast<T>(i % groups);
  STITCH_KERNEL(match<T>).on(1, 32)(mask, in.get(), any.get(), all.get(), same.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  bool equal = true;
  T first = in[__ffs(static_cast<int>(mask)) - 1];
  for (int i = 0; i < 32; ++i)
    if (mask >> i & 1) equal &= in[i] == first;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1)) continue;
    unsigned want = 0;
    for (int i = 0; i < 32; ++i) want |= static_cast<unsigned>((mask >> i & 1) && in[i] == in[lane]) << i;
    EXPECT_EQ(any[lane], want);
    EXPECT_EQ(all[lane], equal ? mask : 0);
    EXPECT_EQ(same[lane], equal);
  }
}
class Match : public OnDeviceWith<std::tuple<unsigned, int>> {};
TEST_P(Match, FollowsItsDefinition) {
  auto [mask, groups] = GetParam();
  check_match<int>(mask, groups);
  check_match<unsigned long long>(mask, groups);
  check_match<float>(mask, groups);
  check_match<double>(mask, groups);
}
INSTANTIATE_TEST_SUITE_P(All, Match,
                         testing::Combine(testing::ValuesIn(masks), testing::Values(1, 2, 5, 32)));

class Warp : public OnDevice {};

__global__ void shuffle_in_branches(int* out) {
  // Two halves of a warp in different branches, at different numbers of shuffles.
  const int lane = static_cast<int>(threadIdx.x);
  int value = lane;
  if (lane < 16) {
    for (int i = 8; i; i /= 2) value += __shfl_xor_sync(0x0000ffffu, value, i);
  } else {
    value = __shfl_sync(0xffff0000u, value, 31);
  }
  out[lane] = value;
}
TEST_F(Warp, HalvesOfAWarpShuffleOnTheirOwn) {
  Buffer<int> out(32);
  STITCH_KERNEL(shuffle_in_branches).on(1, 32)(out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 16 ? 120 : 31);
}

__global__ void run_ahead(int* out) {
  // A lane may be several collectives ahead of another that hasn't read its result yet.
  const unsigned lane = threadIdx.x;
  int a = __shfl_sync(0xffffffffu, static_cast<int>(lane), 3);
  if (lane == 0) {
    for (int i = 0; i < 4; ++i) a += __shfl_sync(0x3u, i, 1);
  } else if (lane == 1) {
    for (int i = 0; i < 4; ++i) __shfl_sync(0x3u, 10 * i, 0);
  }
  out[lane] = a;
}
TEST_F(Warp, MeetingsOfDifferentMasksFollowEachOther) {
  for (const char* order : {"forward", "reverse", "shuffle:7"}) {
    stitch_emulated_set_order(order);
    Buffer<int> out(32);
    STITCH_KERNEL(run_ahead).on(1, 32)(out.get());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(out[0], 3 + 0 + 10 + 20 + 30);
    EXPECT_EQ(out[5], 3);
  }
}

__global__ void exit_early(int* out) {
  if (threadIdx.x % 2) return;
  out[threadIdx.x] = static_cast<int>(__ballot_sync(0xffffffffu, 1));
}
TEST_F(Warp, LanesThatEndedAreNotWaitedFor) {
  Buffer<int> out(32);
  STITCH_KERNEL(exit_early).on(1, 32)(out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(static_cast<unsigned>(out[0]), 0x55555555u);
}

__global__ void active(unsigned* out) {
  if (threadIdx.x % 3 == 0)
    out[threadIdx.x] = __activemask();
  else
    out[threadIdx.x] = __activemask();
}
TEST_F(Warp, ActiveMaskIsWhoCameToTheSameLine) {
  Buffer<unsigned> out(40);
  STITCH_KERNEL(active).on(1, 40)(out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  unsigned thirds = 0;
  for (int i = 0; i < 32; i += 3) thirds |= 1u << i;
  EXPECT_EQ(out[0], thirds);
  EXPECT_EQ(out[1], ~thirds);
  EXPECT_EQ(out[33], 0b10010010u);  // threads 33, 36, 39 are lanes 1, 4, 7
}

__global__ void partial_warp(float* out) {
  float v = 1;
  for (int i = 4; i; i /= 2) v += __shfl_down_sync(0xffffffffu, v, static_cast<unsigned>(i), 8);
  out[threadIdx.x] = v;
}
TEST_F(Warp, ABlockThatFillsNoWarpShufflesToo) {
  Buffer<float> out(8);
  STITCH_KERNEL(partial_warp).on(1, 8)(out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out[0], 8);
}

__global__ void read_nobody(float* out) { out[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 20); }
TEST_F(Warp, ReadingALaneThatIsNotThereGivesNaN) {
  Buffer<float> out(16);
  STITCH_KERNEL(read_nobody).on(1, 16)(out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_NE(out[0], out[0]);
}

__global__ void not_in_mask() { __shfl_sync(0x1u, 1, 0); }
TEST_F(Warp, AMaskWithoutTheCallerIsReported) {
  STITCH_KERNEL(not_in_mask).on(1, 2)();
  Outcome got = outcome();
  EXPECT_EQ(got.error, cudaErrorLaunchFailure);
  EXPECT_NE(
      got.report.find(
          "kernel not_in_mask, block (0,0,0), thread (1,0,0): __shfl_sync with a mask that leaves out the "
          "calling lane"),
      std::string::npos)
      << got.report;
}

}  // namespace
}  // namespace stitch::emulated
