// Blocks of a cluster that send each other 16 bytes at a time through distributed shared memory. The
// receiver's mbarrier counts the bytes (st.async), so it waits only for what it needs. Clusters are
// consecutive blocks of a one-dimensional grid.
//
// The emulated GPU has no clusters: there all blocks run at once and know each other's shared memory.
#pragma once

#if STITCH_EMULATED
#include <thread>
#endif

#include "stitch/runtime/launch.h"

namespace stitch {
#if STITCH_EMULATED
namespace emulated_cluster {
inline char* shared_of_block[4096];
}
using PeerAddress = char*;
#else
using PeerAddress = uint32_t;  // of shared::cluster
#endif

// Counts bytes that arrive, the same number in each phase. In shared memory.
struct ArrivalBarrier {
#if STITCH_EMULATED
  unsigned arrived, expected;

  void begin() { arrived = 0; }
  void expect(int bytes) { expected = static_cast<unsigned>(bytes); }
  void wait(unsigned parity) {
    while ((__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) / expected & 1) == parity) {
      __nanosleep(0);             // emulated: runs other threads of the block,
      std::this_thread::yield();  // and other blocks
    }
  }
#else
  unsigned long long state;

  __device__ __forceinline__ uint32_t address() const {
    return static_cast<uint32_t>(__cvta_generic_to_shared(&state));
  }
  __device__ __forceinline__ void begin() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address()) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // The bytes that complete the phase; called by one thread.
  __device__ __forceinline__ void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [%0], %1;" ::"r"(address()),
                 "r"(bytes)
                 : "memory");
  }
  // Waits for the phase of this parity; received data can then be read.
  __device__ __forceinline__ void wait(unsigned parity) {
    asm volatile(
        "{\n  .reg .pred done;\nagain:\n"
        "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "  @!done bra again;\n}" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
#endif
};

// Called by all threads before anything is sent. `shared`: the start of the block's dynamic shared memory.
__device__ __forceinline__ void enter_cluster(void* shared) {
#if STITCH_EMULATED
  emulated_cluster::shared_of_block[blockIdx.x] = static_cast<char*>(shared);
  stitch_emulated::grid_barrier(__LINE__);
#else
  (void)shared;
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
// Called by all threads at the end: a block's shared memory must outlive its peers' writes.
__device__ __forceinline__ void leave_cluster() {
#if STITCH_EMULATED
  stitch_emulated::grid_barrier(__LINE__);
#else
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// The start of a peer's shared memory.
template <int blocks>
__device__ __forceinline__ PeerAddress peer_memory(void* shared, int peer) {
#if STITCH_EMULATED
  (void)shared;
  return emulated_cluster::shared_of_block[static_cast<int>(blockIdx.x) / blocks * blocks + peer];
#else
  PeerAddress out;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(out)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))), "r"(peer));
  return out;
#endif
}
// Sends 16 bytes, counted at the peer's barrier.
__device__ __forceinline__ void send_16_bytes(PeerAddress to, const uint4& value, PeerAddress barrier) {
#if STITCH_EMULATED
  *reinterpret_cast<uint4*>(to) = value;
  __atomic_fetch_add(&reinterpret_cast<ArrivalBarrier*>(barrier)->arrived, 16u, __ATOMIC_RELEASE);
#else
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
          to),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(barrier)
      : "memory");
#endif
}

// `geometry`: whole clusters of `cluster` blocks, which are co-scheduled; different clusters need not be,
// unless `geometry.resident`.
template <class... Parameters, class... Arguments>
StitchStatus launch_clusters(const char* name, void (*kernel)(Parameters...), Geometry geometry, int cluster,
                             cudaStream_t stream, Arguments&&... arguments) {
#if STITCH_EMULATED
  (void)cluster;
  geometry.resident = true;
#else
  geometry.cluster = cluster;
  constexpr int portable = 8;
  if (cluster > portable)
    STITCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
#endif
  return launch(name, kernel, geometry, stream, std::forward<Arguments>(arguments)...);
}

}  // namespace stitch
