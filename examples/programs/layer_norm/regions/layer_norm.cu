// LayerNorm of each row, a warp a row. The row is read once and stays in registers, so mean and variance are
// two exact passes that cost no memory: 309 kB moved. Chosen where a row fits the registers of one warp.
#include "../regions.h"
#include "stitch/runtime/launch.h"
#include "stitch/runtime/reductions.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace {

constexpr int warps = 4;  // rows of a block
constexpr int threads = 32 * warps;
constexpr float epsilon = 1e-5f;

template <int pack_width>
__global__ void __launch_bounds__(threads) layer_norm(const float* __restrict__ x,       // (50, 772)
                                                      const float* __restrict__ weight,  // (772)
                                                      const float* __restrict__ bias,    // (772)
                                                      float* __restrict__ normed) {      // (50, 772)
  static_assert(width % pack_width == 0, "a row is whole packs");
  constexpr int packs = width / pack_width;
  constexpr int packs_of_lane = (packs + 31) / 32;
  int row = static_cast<int>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / 32;
  int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;  // the whole warp
  const float* from = x + static_cast<int64_t>(row) * width;

  stitch::Pack<float, pack_width> values[packs_of_lane];
  float sum = 0.0f;
#pragma unroll
  for (int p = 0; p < packs_of_lane; ++p) {
    int pack = p * 32 + lane;
    if (pack >= packs) break;
    values[p] = stitch::load<pack_width>(from, pack);
    for (int i = 0; i < pack_width; ++i) sum += values[p][i];
  }
  float mean = stitch::warp_reduce(sum, stitch::Sum()) / width;

  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < packs_of_lane; ++p) {
    if (p * 32 + lane >= packs) break;
    for (int i = 0; i < pack_width; ++i) {
      values[p][i] -= mean;
      squares += values[p][i] * values[p][i];
    }
  }
  float scale = rsqrtf(stitch::warp_reduce(squares, stitch::Sum()) / width + epsilon);

  float* to = normed + static_cast<int64_t>(row) * width;
#pragma unroll
  for (int p = 0; p < packs_of_lane; ++p) {
    int pack = p * 32 + lane;
    if (pack >= packs) break;
    stitch::Pack<float, pack_width> gain = stitch::load<pack_width>(weight, pack);
    stitch::Pack<float, pack_width> offset = stitch::load<pack_width>(bias, pack);
    for (int i = 0; i < pack_width; ++i) values[p][i] = values[p][i] * scale * gain[i] + offset[i];
    stitch::store<pack_width>(to, pack, values[p]);
  }
}

}  // namespace

StitchStatus enqueue_layer_norm(const float* x, const float* weight, const float* bias, float* normed,
                                cudaStream_t stream) {
  bool wide = stitch::is_aligned(x, 16) && stitch::is_aligned(normed, 16);
  dim3 blocks(static_cast<unsigned>(stitch::divide_up(rows, warps)));
  return stitch::launch("layer_norm", wide ? layer_norm<4> : layer_norm<1>, {blocks, threads}, stream, x,
                        weight, bias, normed);
}
