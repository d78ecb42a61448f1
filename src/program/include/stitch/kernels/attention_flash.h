// Attention without scores in memory: a block keeps 64 queries of one head and walks over the keys, 64 at a
// time, with a running maximum and sum (online softmax). q and the result move once, k and v once for every
// 64 queries. In FP32 on the CUDA cores. What is attended stands in a struct: attention_heads.h.
#pragma once

#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"

namespace stitch {
namespace flash {
constexpr int tile = 64, pitch = tile + 1, threads = 256, each = 4, across = 16;
__host__ __device__ constexpr int round_up(int width) { return (width + across - 1) / across * across; }
}  // namespace flash

template <class H>
constexpr size_t flash_shared_bytes() {
  return shared_memory::flash_attention(H::width, H::value_width);
}

// Over the 16 threads that share their rows.
__device__ __forceinline__ float row_maximum(float value) {
#pragma unroll
  for (int mask = 8; mask > 0; mask /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, value, mask);
    if (!(other <= value)) value = other;  // a NaN wins
  }
  return value;
}
__device__ __forceinline__ float row_sum(float value) {
#pragma unroll
  for (int mask = 8; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  return value;
}

template <class H, class Epilogue>
__global__ void __launch_bounds__(flash::threads)
    flash_kernel(const typename H::Query* __restrict__ q, const typename H::Key* __restrict__ k,
                 const typename H::Value* __restrict__ v, const typename H::Mask* __restrict__ mask,
                 typename H::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Index = typename H::Index;
  constexpr int columns = flash::round_up(H::value_width) / flash::across;  // of the result, a thread
  constexpr int value_pitch = flash::round_up(H::value_width);
  extern __shared__ float flash_shared[];
  float* q_tile = flash_shared;                         // (width, 64)
  float* k_tile = q_tile + H::width * flash::pitch;     // (width, 64)
  float* v_tile = k_tile + H::width * flash::pitch;     // (64, value width)
  float* weights = v_tile + flash::tile * value_pitch;  // (64 queries, 64 keys)
  constexpr Index query_tiles = (H::queries + flash::tile - 1) / flash::tile;
  const Index query0 = static_cast<Index>(blockIdx.x) % query_tiles * flash::tile;
  const Index head = static_cast<Index>(blockIdx.x) / query_tiles;
  const int thread = static_cast<int>(threadIdx.x), row = thread / flash::across,
            column = thread % flash::across;

  for (int i = thread; i < flash::tile * H::width; i += flash::threads) {
    const int query = i / H::width, d = i % H::width;
    q_tile[d * flash::pitch + query] =
        query0 + query < H::queries ? static_cast<float>(q[H::q(head, query0 + query, d)]) : 0.0f;
  }
  float sums[flash::each][columns] = {};
  float most[flash::each], total[flash::each] = {};
#pragma unroll
  for (int i = 0; i < flash::each; ++i) most[i] = -INFINITY;

  const Index reach = query0 + flash::tile;  // causal: keys behind it weigh nothing
  const Index last_key = H::causal && reach < H::keys ? reach : H::keys;
  for (Index key0 = 0; key0 < last_key; key0 += flash::tile) {
    __syncthreads();
    for (int i = thread; i < flash::tile * H::width; i += flash::threads) {
      const int key = i / H::width, d = i % H::width;
      k_tile[d * flash::pitch + key] =
          key0 + key < H::keys ? static_cast<float>(k[H::k(head, key0 + key, d)]) : 0.0f;
    }
    for (int i = thread; i < flash::tile * H::value_width; i += flash::threads) {
      const int key = i / H::value_width, d = i % H::value_width;
      v_tile[key * value_pitch + d] =
          key0 + key < H::keys ? static_cast<float>(v[H::v(head, key0 + key, d)]) : 0.0f;
    }
    __syncthreads();

    float scores[flash::each][flash::each] = {};
    for (int d = 0; d < H::width; ++d) {
      float a[flash::each], b[flash::each];
#pragma unroll
      for (int i = 0; i < flash::each; ++i) {
        a[i] = q_tile[d * flash::pitch + row + i * flash::across];
        b[i] = k_tile[d * flash::pitch + column + i * flash::across];
      }
#pragma unroll
      for (int i = 0; i < flash::each; ++i)
#pragma unroll
        for (int j = 0; j < flash::each; ++j) scores[i][j] += a[i] * b[j];
    }
#pragma unroll
    for (int i = 0; i < flash::each; ++i) {
      const Index query = query0 + row + i * flash::across;
      float largest = -INFINITY;
#pragma unroll
      for (int j = 0; j < flash::each; ++j) {
        const Index key = key0 + column + j * flash::across;
        const bool inside = query < H::queries && key < H::keys;
        scores[i][j] = inside ? attention_score<H>(scores[i][j], mask, head, query, key) : -INFINITY;
        if (!(scores[i][j] <= largest)) largest = scores[i][j];
      }
      if constexpr (H::weights == Weights::relu) {
#pragma unroll
        for (int j = 0; j < flash::each; ++j)
          weights[(row + i * flash::across) * flash::pitch + column + j * flash::across] =
              scores[i][j] < 0.0f ? 0.0f : scores[i][j];  // NaN stays
        continue;
      }
      largest = row_maximum(largest);
      const float next = !(largest <= most[i]) ? largest : most[i];
      // Nothing but masked keys so far: nothing to weigh, and nothing to scale.
      const bool nothing = next == -INFINITY;
      const float scale = nothing ? 1.0f : expf(most[i] - next);
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j < flash::each; ++j) {
        const float weight = nothing ? 0.0f : expf(scores[i][j] - next);
        weights[(row + i * flash::across) * flash::pitch + column + j * flash::across] = weight;
        sum += weight;
      }
      total[i] = total[i] * scale + row_sum(sum);
      most[i] = next;
#pragma unroll
      for (int c = 0; c < columns; ++c) sums[i][c] *= scale;
    }
    __syncthreads();
    for (int key = 0; key < flash::tile; ++key) {
      if (key0 + key >= H::keys) break;
      float weight[flash::each];
#pragma unroll
      for (int i = 0; i < flash::each; ++i)
        weight[i] = weights[(row + i * flash::across) * flash::pitch + key];
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const int at = column + c * flash::across;
        const float value = at < H::value_width ? v_tile[key * value_pitch + at] : 0.0f;
#pragma unroll
        for (int i = 0; i < flash::each; ++i) sums[i][c] += weight[i] * value;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < flash::each; ++i) {
    const Index query = query0 + row + i * flash::across;
    if (query >= H::queries) continue;
    float scale = 1.0f;
    if constexpr (H::weights == Weights::softmax) scale = 1.0f / total[i];
    if constexpr (H::weights == Weights::safe_softmax) scale = most[i] == -INFINITY ? 0.0f : 1.0f / total[i];
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const int at = column + c * flash::across;
      if (at >= H::value_width) continue;
      out[H::out(head, query, at)] =
          static_cast<typename H::Out>(epilogue(sums[i][c] * scale, H::position(head, query, at)));
    }
  }
}

template <class H, class Epilogue>
StitchStatus enqueue_flash(const char* name, const typename H::Query* q, const typename H::Key* k,
                           const typename H::Value* v, const typename H::Mask* mask, typename H::Out* out,
                           Epilogue epilogue, cudaStream_t stream) {
  constexpr int64_t blocks = (int64_t{H::queries} + flash::tile - 1) / flash::tile * H::heads;
  static_assert(blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  return launch(name, flash_kernel<H, Epilogue>,
                {static_cast<unsigned>(blocks), flash::threads, flash_shared_bytes<H>()}, stream, q, k, v,
                mask, out, epilogue);
}

}  // namespace stitch
