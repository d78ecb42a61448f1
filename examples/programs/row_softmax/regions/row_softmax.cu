// Softmax of each row, a block a row. The row is read once and stays in registers between the maximum, the
// sum and the division: 512 kB moved. Chosen where a row fits the registers of one block.
#include <cmath>

#include "../regions.h"
#include "stitch/runtime/launch.h"
#include "stitch/runtime/reductions.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace {

constexpr int threads = 256;

template <int width>
__global__ void __launch_bounds__(threads) row_softmax(const float* __restrict__ x,    // (64, 1000)
                                                       float* __restrict__ softmax) {  // (64, 1000)
  static_assert(columns % width == 0, "a row is whole packs");
  constexpr int packs = columns / width;
  constexpr int packs_of_thread = (packs + threads - 1) / threads;
  const float* row = x + static_cast<int64_t>(blockIdx.x) * columns;
  int thread = static_cast<int>(threadIdx.x);

  stitch::Pack<float, width> values[packs_of_thread];
  float largest = -INFINITY;
#pragma unroll
  for (int p = 0; p < packs_of_thread; ++p) {
    int pack = p * threads + thread;
    if (pack >= packs) break;
    values[p] = stitch::load<width>(row, pack);
    for (int i = 0; i < width; ++i) largest = stitch::Maximum()(largest, values[p][i]);
  }
  largest = stitch::block_reduce<threads>(largest, -INFINITY, stitch::Maximum());

  float sum = 0.0f;
#pragma unroll
  for (int p = 0; p < packs_of_thread; ++p) {
    if (p * threads + thread >= packs) break;
    for (int i = 0; i < width; ++i) {
      values[p][i] = expf(values[p][i] - largest);
      sum += values[p][i];
    }
  }
  sum = stitch::block_reduce<threads>(sum, 0.0f, stitch::Sum());

  float* out = softmax + static_cast<int64_t>(blockIdx.x) * columns;
  float scale = 1.0f / sum;
#pragma unroll
  for (int p = 0; p < packs_of_thread; ++p) {
    int pack = p * threads + thread;
    if (pack >= packs) break;
    for (int i = 0; i < width; ++i) values[p][i] *= scale;
    stitch::store<width>(out, pack, values[p]);
  }
}

}  // namespace

StitchStatus enqueue_row_softmax(const float* x, float* softmax, cudaStream_t stream) {
  bool wide = stitch::is_aligned(x, 16) && stitch::is_aligned(softmax, 16);
  return stitch::launch("row_softmax", wide ? row_softmax<4> : row_softmax<1>, {rows, threads}, stream, x,
                        softmax);
}
