// Attention of fp16 or bf16 tensors as in attention_half.h, on the tensor cores of sm_90a: four warps
// multiply 64 queries at a time (runtime/wgmma.h), with k and v read from shared memory as they arrived.
// Tiles of 64 keys, the next one on its way while one is multiplied. Heads of 64 or 128 features; row_tiles
// is 1, warps 4 or 8. Built for another architecture, it takes mma as attention_half.h does. Moves what
// attention_half.h moves.
#pragma once

#include "stitch/kernels/attention_half.h"
#include "stitch/runtime/wgmma.h"

namespace stitch {
template <class H>
struct WarpgroupAttention {
  static constexpr int threads = H::warps * 32, rows = H::warps * 16, key_tile = 64;
  static constexpr int panel = key_tile * 64;  // numbers
  static constexpr int k_panels = H::width / 64, v_panels = H::value_width / 64;
  static constexpr int stage = (k_panels + v_panels) * panel;
  static constexpr size_t shared_bytes = shared_memory::warpgroup_attention(H::width, H::value_width, rows);
  static_assert(H::width % 64 == 0 && H::value_width % 64 == 0 && H::key_tile == key_tile &&
                H::row_tiles == 1 && H::warps % 4 == 0);
};

// 64 rows of k or v into panels; zeros behind the last.
template <int threads, int panels, class Number, class At>
__device__ __forceinline__ void fetch_panels(__half* to, const Number* __restrict__ from, int64_t count,
                                             At at) {
  constexpr int each = panels * 8;
#pragma unroll
  for (int i = threadIdx.x; i < 64 * each; i += threads) {
    const int row = i / each, piece = i % each;
    const bool there = row < count;
    copy_16_bytes(to + piece / 8 * 64 * 64 + swizzled(row, piece % 8),
                  there ? from + at(row, piece * 8) : from, there);
  }
}

template <class H, class Epilogue>
__global__ void __launch_bounds__(H::warps * 32)
    warpgroup_attention(const typename H::Query* __restrict__ q, const typename H::Key* __restrict__ k,
                        const typename H::Value* __restrict__ v, const typename H::Mask* __restrict__ mask,
                        typename H::Out* __restrict__ out, float* __restrict__ partial, Epilogue epilogue) {
#if STITCH_WGMMA
  using Index = typename H::Index;
  using S = HalfAttention<H>;
  using W = WarpgroupAttention<H>;
  constexpr int key_tiles = 8, depth_tiles = H::width / 16;
  constexpr bool keeping = H::masking == Masking::keeping;
  extern __shared__ uint4 attention_shared[];
  // Panels begin at multiples of 1024 bytes: (stage, k and v, panel, key, 64), then q.
  __half* panels = reinterpret_cast<__half*>(attention_shared);
#if !STITCH_EMULATED
  panels += (1024 - __cvta_generic_to_shared(panels) % 1024) % 1024 / 2;
#endif
  __half* q_tile = panels + 2 * W::stage;  // (rows, width)
  __shared__ uint64_t kept[2][keeping ? W::rows : 1];

  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32,
            group = lane / 4, pair = lane % 4, warp_row = warp * 16;
  const HalfBlock<H, W::rows, W::threads> block;
  const Index row0 = block.row0, last_key = block.last_key;
  auto fetch = [&](Index key0, int stage) {
    __half* to = panels + stage * W::stage;
    fetch_panels<W::threads, W::k_panels>(to, k, last_key - key0,
                                          [&](int row, int i) { return H::k(block.head0, key0 + row, i); });
    fetch_panels<W::threads, W::v_panels>(to + W::k_panels * W::panel, v, last_key - key0,
                                          [&](int row, int i) { return H::v(block.head0, key0 + row, i); });
    close_copies();
  };

  int parity = 0;
  Index key0 = block.template next_kept<true>(kept, mask, block.first_key, parity);
  fetch_rows<W::threads, W::rows, H::width, true>(q_tile, q, S::all_rows - row0, [&](int row, int i) {
    return H::q(block.head_of(row), block.query_of(row), i);
  });
  close_copies();
  if (key0 < last_key) fetch(key0, 0);
  wait_for_copies<0>();
  __syncthreads();
  MmaLeft held_q[depth_tiles];
#pragma unroll
  for (int d = 0; d < depth_tiles; ++d)
    held_q[d] = load_left(q_tile + warp_row * S::pitch + d * 16, S::pitch);
  float sums[8 * W::v_panels][4] = {};
  float most[2] = {-INFINITY, -INFINITY}, total[2] = {};

  while (key0 < last_key) {
    wait_for_copies<0>();
    show_to_products();
    // All warps are done with the other stage.
    const Index next = block.template next_kept<true>(kept, mask, key0 + H::key_tile, 1 - parity);
    if (next < last_key) fetch(next, 1 - parity);
    const __half* k_panels = panels + parity * W::stage;
    const __half* v_panels = k_panels + W::k_panels * W::panel;

    float scores[key_tiles][4];
    begin_products();
#pragma unroll
    for (int d = 0; d < depth_tiles; ++d)
      multiply_panel<true, S::is_bfloat>(scores, held_q[d], k_panels + d / 4 * W::panel, d % 4 * 16, d > 0);
    finish_products();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + r * 8 + group;
      const bool there = row0 + row < S::all_rows;
      const bool past = H::causal && (H::group > 1 || key0 + H::key_tile > row0 + warp_row);
      weigh_scores<H>(scores, sums, r, most[r], total[r], keeping ? kept[parity][row] >> (2 * pair) : 0, mask,
                      there ? block.head_of(row) : block.head0, there ? block.query_of(row) : 0, key0, past);
    }
    MmaLeft weights[key_tiles / 2];
#pragma unroll
    for (int n = 0; n < key_tiles / 2; ++n)
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const float* two = scores[2 * n + p / 2] + p % 2 * 2;
        weights[n].parts[p] = S::pair(two[0], two[1]);
      }
    begin_products();
#pragma unroll
    for (int panel = 0; panel < W::v_panels; ++panel)
#pragma unroll
      for (int n = 0; n < key_tiles / 2; ++n)
        multiply_panel<false, S::is_bfloat>(reinterpret_cast<float(&)[8][4]>(sums[panel * 8]), weights[n],
                                            v_panels + panel * W::panel, n * 16, true);
    finish_products();
    key0 = next;
    parity = 1 - parity;
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = warp_row + r * 8 + group;
    store_half_row<H, true>(sums, r, most[r], total[r], row0 + row < S::all_rows, block.head_of(row),
                            block.query_of(row), block.split, out, partial, epilogue);
  }
#else
  half_attention_block<H, true>(q, k, v, mask, out, partial, epilogue);
#endif
}

template <class H, class Epilogue>
StitchStatus enqueue_warpgroup_attention(const char* name, const typename H::Query* q,
                                         const typename H::Key* k, const typename H::Value* v,
                                         const typename H::Mask* mask, typename H::Out* out,
                                         Epilogue epilogue, float* partial, cudaStream_t stream) {
  using W = WarpgroupAttention<H>;
  auto aligned = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
  if (!(aligned(q) && aligned(k) && aligned(v) && aligned(out) && aligned(mask)))
    return enqueue_half_attention<H>(name, q, k, v, mask, out, epilogue, partial, stream);
  constexpr int64_t blocks = HalfBlock<H, W::rows, W::threads>::blocks;
  static_assert(blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  STITCH_OK_OR_RETURN(launch(name, warpgroup_attention<H, Epilogue>,
                             {static_cast<unsigned>(blocks), W::threads, W::shared_bytes}, stream, q, k, v,
                             mask, out, partial, epilogue));
  return combine_splits<H>(name, partial, out, epilogue, stream);
}

}  // namespace stitch
