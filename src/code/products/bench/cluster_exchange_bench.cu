// Ways to pass 256 numbers a sample on to all blocks of a cluster, a step: which one has the least latency
// (measure.h has the command).
#include "measure.h"
#include "stitch/runtime/cluster.h"

// rows: st.async, a sample's numbers contiguous; lines: st.async, eight samples of four numbers contiguous,
// so that eight lanes send 128 bytes in a row; bulk: the same by one bulk copy per warp and peer; stores:
// plain stores in lines and a cluster barrier.
enum class How { rows, lines, bulk, stores };

__device__ __forceinline__ void store_remote(uint32_t to, const uint4& v) {
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}
__device__ __forceinline__ void copy_bulk(uint32_t to, uint32_t from, int bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          to),
      "r"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

template <How how, int cluster, int samples>
__global__ void exchange(int steps, uint4* out) {
  constexpr int row = 68, tiles = (samples + 7) / 8, state = 8 * tiles * row, warps = 64 / cluster;
  extern __shared__ uint4 memory[];
  ArrivalBarrier* barriers = reinterpret_cast<ArrivalBarrier*>(memory + 2 * state);
  uint4* staging = memory + 2 * state + 1;  // (2, warps, tiles, 8)
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32,
            quad = blockIdx.x % cluster * warps + warp;
  constexpr int bytes = how == How::bulk ? tiles * 64 * 128 : samples * 64 * 16;
  for (int i = thread; i < 2 * state + 1 + 2 * warps * tiles * 8; i += blockDim.x) memory[i] = uint4{};
  __syncthreads();
  if (thread == 0)
    for (int b = 0; b < 2; ++b) barriers[b].begin(), barriers[b].expect(bytes);
  __syncthreads();
  enter_cluster(memory);
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(memory));
  PeerAddress peers[cluster / 4];
  for (int p = 0; p < cluster / 4; ++p) peers[p] = peer_memory<cluster>(memory, lane / 8 + 4 * p);
  const PeerAddress own_peer = peer_memory<cluster>(memory, lane % cluster);
  uint4 value{};
  for (int i = 0; i < steps; ++i) {
    if (i > 0) {
      if constexpr (how == How::stores) {
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
      } else {
        barriers[i & 1].wait((i - 1) / 2 & 1);
        if (thread == 0 && i + 2 < steps) barriers[i & 1].expect(bytes);
      }
    }
    value.x += memory[(i & 1) * state + lane % samples * row + i % 64].x + 1;
    if (i + 1 < steps) {
      const int buffer = i + 1 & 1;
      const uint32_t barrier = 2 * state * 16 + buffer * 8;
      for (int t = 0; t < tiles; ++t) {
        const int sample = 8 * t + lane % 8;
        const uint32_t at = how == How::rows ? (buffer * state + sample * row + quad) * 16
                                             : (buffer * state + (t * 64 + quad) * 8 + lane % 8) * 16;
        if constexpr (how == How::bulk) {
          uint4* stage = staging + ((buffer * warps + warp) * tiles + t) * 8;
          if (lane < 8) stage[lane] = value;
          asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
          __syncwarp();
          if (lane < cluster)
            copy_bulk(own_peer + (buffer * state + (t * 64 + quad) * 8) * 16,
                      base + static_cast<uint32_t>(reinterpret_cast<char*>(stage) -
                                                   reinterpret_cast<char*>(memory)),
                      128, own_peer + barrier);
        } else {
          for (int p = 0; p < cluster / 4; ++p)
            if (sample < samples) {
              if constexpr (how == How::stores)
                store_remote(peers[p] + at, value);
              else
                send_16_bytes(peers[p] + at, value, peers[p] + barrier);
            }
        }
      }
      if constexpr (how == How::stores) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    }
  }
  out[blockIdx.x * blockDim.x + thread] = value;
  leave_cluster();
}

template <How how, int cluster, int samples>
void time_exchange(const char* name, int clusters) {
  constexpr int tiles = (samples + 7) / 8,
                bytes = (2 * 8 * tiles * 68 + 1 + 2 * 64 / cluster * tiles * 8) * 16, steps = 2000;
  Buffer<uint4> out(132 * 512);
  const double time = time_of([&] {
    OK(launch_clusters("exchange", exchange<how, cluster, samples>,
                       {static_cast<unsigned>(clusters * cluster), 64 / cluster * 32, bytes}, cluster,
                       nullptr, steps, out.data));
  });
  CUDA(cudaDeviceSynchronize());
  say("%-6s %d clusters of %2d blocks, %2d samples: %6.3f us a step\n", name, clusters, cluster, samples,
      time * 1e3 / steps);
}
template <int cluster, int samples>
void time_all(int clusters) {
  time_exchange<How::rows, cluster, samples>("rows", clusters);
  time_exchange<How::lines, cluster, samples>("lines", clusters);
  time_exchange<How::stores, cluster, samples>("stores", clusters);
  time_exchange<How::bulk, cluster, samples>("bulk", clusters);
}

// Cycles per tensor-core product: one warp per quarter, with so many independent accumulators.
template <int chains>
__global__ void products(int rounds, float* out) {
  float sums[chains][4] = {};
  uint32_t a = threadIdx.x, b = threadIdx.x * 3;
  for (int i = 0; i < rounds; ++i)
#pragma unroll
    for (int c = 0; c < chains; ++c)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, "
          "{%0, %1, "
          "%2, %3};"
          : "+f"(sums[c][0]), "+f"(sums[c][1]), "+f"(sums[c][2]), "+f"(sums[c][3])
          : "r"(a), "r"(b));
  float sum = 0;
  for (auto& four : sums) sum += four[0] + four[1] + four[2] + four[3];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
template <int chains>
void time_products(int warps) {
  Buffer<float> out(132 * 1024);
  int clock = 0;
  CUDA(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
  const int rounds = 20000;
  const double time = time_of([&] { products<chains><<<132, warps * 32>>>(rounds, out.data); });
  say("products: %d chains, %d warps a block: %.2f ns a product and quarter (clock rate %d kHz)\n", chains,
      warps, time * 1e6 / rounds / chains / (warps / 4), clock);
}

int main() {
  time_products<1>(4), time_products<4>(4), time_products<6>(4), time_products<6>(8), time_products<12>(4);
  time_all<16, 4>(6), time_all<16, 5>(4), time_all<16, 8>(6), time_all<16, 10>(6);
  time_all<8, 2>(10), time_all<8, 4>(12), time_all<8, 5>(12), time_all<8, 10>(6);
}
