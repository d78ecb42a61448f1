// Flash attention: a block holds 64 queries of one head and walks over the keys, 64 at a time, with a running
// maximum and sum (online softmax). q and the result move once, k and v once per 64 queries. FP32 on the CUDA
// cores. Operands are described by a struct: attention_heads.h.
#pragma once

#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"

namespace stitch {
namespace flash {
constexpr int tile = 64, pitch = tile + 1, threads = 256, each = 4, across = 16;
__host__ __device__ constexpr int round_up(int width) { return (width + across - 1) / across * across; }
}  // namespace flash

template <class Heads>
constexpr size_t flash_shared_bytes() {
  return shared_memory::flash_attention(Heads::width, Heads::value_width);
}

// Over the 16 threads that share a row.
__device__ __forceinline__ float row_maximum(float value) {
#pragma unroll
  for (int mask = 8; mask > 0; mask /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, value, mask);
    if (!(other <= value)) value = other;  // NaN propagates
  }
  return value;
}
__device__ __forceinline__ float row_sum(float value) {
#pragma unroll
  for (int mask = 8; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  return value;
}

template <class Heads, class Epilogue>
__global__ void __launch_bounds__(flash::threads)
    flash_kernel(const typename Heads::Query* __restrict__ q, const typename Heads::Key* __restrict__ k,
                 const typename Heads::Value* __restrict__ v, const typename Heads::Mask* __restrict__ mask,
                 typename Heads::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Index = typename Heads::Index;
  constexpr int columns = flash::round_up(Heads::value_width) / flash::across;  // result columns per thread
  constexpr int value_pitch = flash::round_up(Heads::value_width);
  extern __shared__ float flash_shared[];
  float* q_tile = flash_shared;                          // (width, 64)
  float* k_tile = q_tile + Heads::width * flash::pitch;  // (width, 64)
  float* v_tile = k_tile + Heads::width * flash::pitch;  // (64, value width)
  float* weights = v_tile + flash::tile * value_pitch;   // (64 queries, 64 keys)
  constexpr Index query_tiles = (Heads::queries + flash::tile - 1) / flash::tile;
  const Index query0 = static_cast<Index>(blockIdx.x) % query_tiles * flash::tile;
  const Index head = static_cast<Index>(blockIdx.x) / query_tiles;
  const int thread = static_cast<int>(threadIdx.x), row = thread / flash::across,
            column = thread % flash::across;

  for (int i = thread; i < flash::tile * Heads::width; i += flash::threads) {
    const int query = i / Heads::width, d = i % Heads::width;
    q_tile[d * flash::pitch + query] =
        query0 + query < Heads::queries ? static_cast<float>(q[Heads::q(head, query0 + query, d)]) : 0.0f;
  }
  float sums[flash::each][columns] = {};
  float most[flash::each], total[flash::each] = {};
#pragma unroll
  for (int i = 0; i < flash::each; ++i) most[i] = -INFINITY;

  const Index reach = query0 + flash::tile;  // causal: later keys are masked
  const Index last_key = Heads::causal && reach < Heads::keys ? reach : Heads::keys;
  for (Index key0 = 0; key0 < last_key; key0 += flash::tile) {
    __syncthreads();
    for (int i = thread; i < flash::tile * Heads::width; i += flash::threads) {
      const int key = i / Heads::width, d = i % Heads::width;
      k_tile[d * flash::pitch + key] =
          key0 + key < Heads::keys ? static_cast<float>(k[Heads::k(head, key0 + key, d)]) : 0.0f;
    }
    for (int i = thread; i < flash::tile * Heads::value_width; i += flash::threads) {
      const int key = i / Heads::value_width, d = i % Heads::value_width;
      v_tile[key * value_pitch + d] =
          key0 + key < Heads::keys ? static_cast<float>(v[Heads::v(head, key0 + key, d)]) : 0.0f;
    }
    __syncthreads();

    float scores[flash::each][flash::each] = {};
    for (int d = 0; d < Heads::width; ++d) {
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
        const bool inside = query < Heads::queries && key < Heads::keys;
        scores[i][j] = inside ? attention_score<Heads>(scores[i][j], mask, head, query, key) : -INFINITY;
        if (!(scores[i][j] <= largest)) largest = scores[i][j];
      }
      if constexpr (Heads::weights == Weights::relu) {
#pragma unroll
        for (int j = 0; j < flash::each; ++j)
          weights[(row + i * flash::across) * flash::pitch + column + j * flash::across] =
              scores[i][j] < 0.0f ? 0.0f : scores[i][j];  // keeps NaN
        continue;
      }
      largest = row_maximum(largest);
      const float next = !(largest <= most[i]) ? largest : most[i];
      // All keys masked so far: nothing to rescale.
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
      if (key0 + key >= Heads::keys) break;
      float weight[flash::each];
#pragma unroll
      for (int i = 0; i < flash::each; ++i)
        weight[i] = weights[(row + i * flash::across) * flash::pitch + key];
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const int at = column + c * flash::across;
        const float value = at < Heads::value_width ? v_tile[key * value_pitch + at] : 0.0f;
#pragma unroll
        for (int i = 0; i < flash::each; ++i) sums[i][c] += weight[i] * value;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < flash::each; ++i) {
    const Index query = query0 + row + i * flash::across;
    if (query >= Heads::queries) continue;
    float scale = 1.0f;
    if constexpr (Heads::weights == Weights::softmax) scale = 1.0f / total[i];
    if constexpr (Heads::weights == Weights::safe_softmax)
      scale = most[i] == -INFINITY ? 0.0f : 1.0f / total[i];
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const int at = column + c * flash::across;
      if (at >= Heads::value_width) continue;
      out[Heads::out(head, query, at)] =
          static_cast<typename Heads::Out>(epilogue(sums[i][c] * scale, Heads::position(head, query, at)));
    }
  }
}

template <class Heads, class Epilogue>
StitchStatus enqueue_flash(const char* name, const typename Heads::Query* q, const typename Heads::Key* k,
                           const typename Heads::Value* v, const typename Heads::Mask* mask,
                           typename Heads::Out* out, Epilogue epilogue, cudaStream_t stream) {
  constexpr int64_t blocks = (int64_t{Heads::queries} + flash::tile - 1) / flash::tile * Heads::heads;
  static_assert(blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  return launch(name, flash_kernel<Heads, Epilogue>,
                {static_cast<unsigned>(blocks), flash::threads, flash_shared_bytes<Heads>()}, stream, q, k, v,
                mask, out, epilogue);
}

}  // namespace stitch
