#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <algorithm>

#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

namespace cg = cooperative_groups;

class Groups : public OnDevice {};

template <unsigned Size>
__global__ void in_tiles(int* sum, int* max, int* scan, unsigned* ballot, int* neighbour) {
  auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
  const int i = static_cast<int>(threadIdx.x);
  sum[i] = cg::reduce(tile, i, cg::plus<int>());
  max[i] = cg::reduce(tile, i * 7 % 31, cg::greater<int>());
  scan[i] = cg::inclusive_scan(tile, i);
  ballot[i] = tile.ballot(i % 2);
  neighbour[i] = tile.shfl_down(i, 1);
  tile.sync();
}
template <unsigned Size>
void check_tiles() {
  constexpr int n = 96;
  Buffer<int> sum(n), max(n), scan(n), neighbour(n);
  Buffer<unsigned> ballot(n);
  STITCH_KERNEL(in_tiles<Size>).on(1, n)(sum.get(), max.get(), scan.get(), ballot.get(), neighbour.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << stitch_emulated_last_report();
  for (int i = 0; i < n; ++i) {
    const int first = i / static_cast<int>(Size) * static_cast<int>(Size),
              last = first + static_cast<int>(Size) - 1;
    int want_sum = 0, want_max = 0, want_scan = 0;
    unsigned want_ballot = 0;
    for (int k = first; k <= last; ++k) {
      want_sum += k;
      want_max = std::max(want_max, k * 7 % 31);
      if (k <= i) want_scan += k;
      want_ballot |= static_cast<unsigned>(k % 2) << (k - first);
    }
    EXPECT_EQ(sum[i], want_sum);
    EXPECT_EQ(max[i], want_max);
    EXPECT_EQ(scan[i], want_scan);
    EXPECT_EQ(ballot[i], want_ballot);
    EXPECT_EQ(neighbour[i], i == last ? i : i + 1);
  }
}
TEST_F(Groups, TilesOf1) { check_tiles<1>(); }
TEST_F(Groups, TilesOf2) { check_tiles<2>(); }
TEST_F(Groups, TilesOf4) { check_tiles<4>(); }
TEST_F(Groups, TilesOf8) { check_tiles<8>(); }
TEST_F(Groups, TilesOf16) { check_tiles<16>(); }
TEST_F(Groups, TilesOf32) { check_tiles<32>(); }

__global__ void aggregated(int* counter, int* slots) {
  if (threadIdx.x % 5 == 2) {
    auto group = cg::coalesced_threads();
    int first = 0;
    if (group.thread_rank() == 0) first = atomicAdd(counter, static_cast<int>(group.size()));
    slots[group.shfl(first, 0) + static_cast<int>(group.thread_rank())] = static_cast<int>(threadIdx.x);
  }
}
TEST_F(Groups, CoalescedThreadsAggregateAtomics) {
  Buffer<int> counter(1), slots(64, -1);
  STITCH_KERNEL(aggregated).on(1, 64)(counter.get(), slots.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << stitch_emulated_last_report();
  EXPECT_EQ(counter[0], 13);
  std::vector<int> got = slots.vector();
  got.resize(13);
  std::sort(got.begin(), got.end());
  for (int i = 0; i < 13; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], 5 * i + 2);
}
__global__ void partitions(unsigned* sizes, unsigned* labels) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  sizes[threadIdx.x] = cg::binary_partition(warp, threadIdx.x < 10).size();
  labels[threadIdx.x] = cg::labeled_partition(warp, static_cast<int>(threadIdx.x % 3)).size();
}
TEST_F(Groups, PartitionsByPredicateAndLabel) {
  Buffer<unsigned> sizes(32), labels(32);
  STITCH_KERNEL(partitions).on(1, 32)(sizes.get(), labels.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(sizes[3], 10u);
  EXPECT_EQ(sizes[20], 22u);
  EXPECT_EQ(labels[0], 11u);
  EXPECT_EQ(labels[2], 10u);
}
__global__ void block_copy(const int* in, int* out) {
  __shared__ int stage[100];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, stage, in, sizeof stage);
  cg::wait(block);
  for (unsigned i = block.thread_rank(); i < 100; i += block.size()) out[i] = stage[99 - i];
}
TEST_F(Groups, CopiesByABlock) {
  for (const char* order : {"forward", "reverse"}) {
    stitch_emulated_set_order(order);
    Buffer<int> in(100), out(100);
    for (int i = 0; i < 100; ++i) in[static_cast<size_t>(i)] = i;
    STITCH_KERNEL(block_copy).on(1, 33)(in.get(), out.get());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], 99 - i);
  }
}

__global__ void grid_rotate(int* a, int* b, int rounds) {
  auto grid = cg::this_grid();
  __shared__ int kept;  // per block, for the whole launch
  if (threadIdx.x == 0) kept = static_cast<int>(blockIdx.x);
  __syncthreads();
  const auto n = static_cast<unsigned>(grid.size()), i = static_cast<unsigned>(grid.thread_rank());
  for (int r = 0; r < rounds; ++r) {
    b[i] = a[(i + 1) % n];
    grid.sync();
    a[i] = b[i];
    grid.sync();
  }
  if (kept != static_cast<int>(blockIdx.x)) a[i] = -1;
}
TEST_F(Groups, GridSyncHoldsTheWholeGrid) {
  for (const char* order : {"forward", "reverse"}) {
    stitch_emulated_set_order(order);
    constexpr unsigned n = 20 * 64;
    Buffer<int> a(n), b(n);
    for (unsigned i = 0; i < n; ++i) a[i] = static_cast<int>(i);
    int *pa = a.get(), *pb = b.get(), rounds = 5;
    void* arguments[] = {&pa, &pb, &rounds};
    ASSERT_EQ(cudaLaunchCooperativeKernel(grid_rotate, 20, 64, arguments), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << stitch_emulated_last_report();
    for (unsigned i = 0; i < n; ++i) ASSERT_EQ(a[i], static_cast<int>((i + 5) % n));
  }
}
TEST_F(Groups, GridSyncNeedsACooperativeLaunch) {
  Buffer<int> a(64), b(64);
  STITCH_KERNEL(grid_rotate).on(1, 64)(a.get(), b.get(), 1);
  Outcome got = outcome();
  EXPECT_EQ(got.error, cudaErrorLaunchFailure);
  EXPECT_NE(got.report.find("grid.sync() needs cudaLaunchCooperativeKernel"), std::string::npos)
      << got.report;
}
__global__ void one_block_leaves() {
  if (blockIdx.x != 1) cg::this_grid().sync();
}
TEST_F(Groups, ABlockThatLeavesTheGridIsReported) {
  ASSERT_EQ(cudaLaunchCooperativeKernel(one_block_leaves, 4, 32, nullptr), cudaSuccess);
  Outcome got = outcome();
  EXPECT_EQ(got.error, cudaErrorLaunchFailure);
  EXPECT_NE(got.report.find("1 of 4 blocks ended while the others wait at grid.sync"), std::string::npos)
      << got.report;
}
__global__ void swap_in_cluster(int* a) {
  const unsigned own = blockIdx.x, other = own ^ 1;
  const int taken = a[other];
  stitch_emulated::cluster_barrier(__LINE__);
  if (threadIdx.x == 0) a[own] = taken + 100 * static_cast<int>(stitch_emulated::block_of_cluster());
}
cudaError_t launch_clusters(int* a, unsigned blocks, unsigned cluster) {
  void* arguments[] = {&a};
  return stitch_emulated::submit(stitch_emulated::Signature<int*>::kernel(swap_in_cluster, "swap_in_cluster"),
                                 {blocks, 32, 0, nullptr, false, cluster}, arguments);
}
TEST_F(Groups, BlocksOfAClusterWaitForEachOther) {
  for (const char* order : {"forward", "reverse"}) {
    stitch_emulated_set_order(order);
    constexpr unsigned blocks = 400;  // more than run at once: clusters don't wait for each other
    Buffer<int> a(blocks);
    for (unsigned i = 0; i < blocks; ++i) a[i] = static_cast<int>(i);
    ASSERT_EQ(launch_clusters(a.get(), blocks, 2), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << stitch_emulated_last_report();
    for (unsigned i = 0; i < blocks; ++i) ASSERT_EQ(a[i], static_cast<int>((i ^ 1) + 100 * (i % 2)));
  }
}
TEST_F(Groups, AGridIsWholeClusters) {
  Buffer<int> a(6);
  EXPECT_EQ(launch_clusters(a.get(), 6, 4), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_clusters(a.get(), 32, 16), cudaErrorInvalidConfiguration);
  (void)cudaGetLastError();
}
TEST_F(Groups, ACooperativeLaunchMustFitTheDevice) {
  EXPECT_EQ(cudaLaunchCooperativeKernel(one_block_leaves, 132 * 2 + 1, 1024, nullptr),
            cudaErrorCooperativeLaunchTooLarge);
}

}  // namespace
}  // namespace stitch::emulated
