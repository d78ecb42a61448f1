// gelu(x · weightᵀ + bias) on the CUDA cores in FP32, bias and GELU in the epilogue: 9.4 MFLOP, 363 kB moved.
// A block makes a 64 x 64 tile, a thread 8 x 4 of it; the next tiles of x and weight are on their way to
// registers while the present ones are multiplied. Chosen where FP32 must be exact and cuBLAS would need a
// second kernel.
#include "../regions.h"
#include "stitch/runtime/activations.h"
#include "stitch/runtime/launch.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace {

constexpr int rows = batch, columns = outputs_of_layer, depth = inputs_of_layer;
constexpr int tile_rows = 64, tile_columns = 64, tile_depth = 16;
constexpr int thread_rows = 8, thread_columns = 4;
constexpr int threads = (tile_rows / thread_rows) * (tile_columns / thread_columns);
constexpr int left_packs = tile_rows * tile_depth / 4 / threads;      // of a thread, each 4 wide
constexpr int right_packs = tile_depth * tile_columns / 4 / threads;  // of a thread, each 4 wide
static_assert(depth % 4 == 0 && columns % 4 == 0,
              "packs of 4 are inside the matrices or outside, never half");

using Four = stitch::Pack<float, 4>;

// Four neighbours, where the matrix has them.
template <bool aligned>
__device__ __forceinline__ Four load_four(const float* from, bool inside) {
  Four values = {};
  if (!inside) return values;
  if constexpr (aligned)
    values = stitch::load<4>(from, 0);
  else
    for (int i = 0; i < 4; ++i) values[i] = from[i];
  return values;
}

// The tiles in shared memory. Left is transposed, so that a thread's rows are neighbours; its padding keeps
// the packs aligned and halves the conflicts of the transposing stores.
struct Tiles {
  float left[tile_depth][tile_rows + 4];
  float right[tile_depth][tile_columns];
};

// One thread's share of the next tiles, on its way from memory.
template <bool aligned>
struct Fetched {
  Four left[left_packs], right[right_packs];

  __device__ __forceinline__ void fetch(const float* x, const float* packed, int row0, int column0,
                                        int depth0) {
#pragma unroll
    for (int p = 0; p < left_packs; ++p) {
      int pack = p * threads + static_cast<int>(threadIdx.x);
      int row = row0 + pack / (tile_depth / 4), k = depth0 + pack % (tile_depth / 4) * 4;
      left[p] = load_four<aligned>(x + static_cast<int64_t>(row) * depth + k, row < rows && k < depth);
    }
#pragma unroll
    for (int p = 0; p < right_packs; ++p) {
      int pack = p * threads + static_cast<int>(threadIdx.x);
      int k = depth0 + pack / (tile_columns / 4), column = column0 + pack % (tile_columns / 4) * 4;
      right[p] =
          load_four<true>(packed + static_cast<int64_t>(k) * columns + column, k < depth && column < columns);
    }
  }

  __device__ __forceinline__ void put(Tiles& tiles) const {
#pragma unroll
    for (int p = 0; p < left_packs; ++p) {
      int pack = p * threads + static_cast<int>(threadIdx.x);
      for (int i = 0; i < 4; ++i)
        tiles.left[pack % (tile_depth / 4) * 4 + i][pack / (tile_depth / 4)] = left[p][i];
    }
#pragma unroll
    for (int p = 0; p < right_packs; ++p)
      stitch::store<4>(&tiles.right[0][0], p * threads + static_cast<int>(threadIdx.x), right[p]);
  }
};

template <bool aligned>
__global__ void __launch_bounds__(threads) linear_gelu(const float* __restrict__ x,       // (100, 260)
                                                       const float* __restrict__ packed,  // (260, 180)
                                                       const float* __restrict__ bias,    // (180)
                                                       float* __restrict__ gelu) {        // (100, 180)
  __shared__ alignas(16) Tiles tiles[2];
  int row0 = static_cast<int>(blockIdx.y) * tile_rows, column0 = static_cast<int>(blockIdx.x) * tile_columns;
  int thread_row = static_cast<int>(threadIdx.x) / (tile_columns / thread_columns) * thread_rows;
  int thread_column = static_cast<int>(threadIdx.x) % (tile_columns / thread_columns) * thread_columns;

  float sums[thread_rows][thread_columns] = {};
  Fetched<aligned> next;
  next.fetch(x, packed, row0, column0, 0);
  next.put(tiles[0]);
  __syncthreads();
  for (int depth0 = 0, now = 0; depth0 < depth; depth0 += tile_depth, now ^= 1) {
    bool more = depth0 + tile_depth < depth;
    if (more) next.fetch(x, packed, row0, column0, depth0 + tile_depth);
#pragma unroll
    for (int k = 0; k < tile_depth; ++k) {
      Four low = stitch::load<4>(&tiles[now].left[k][thread_row], 0);
      Four high = stitch::load<4>(&tiles[now].left[k][thread_row], 1);
      Four right = stitch::load<4>(&tiles[now].right[k][thread_column], 0);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          sums[i][j] += low[i] * right[j];
          sums[i + 4][j] += high[i] * right[j];
        }
    }
    if (more) next.put(tiles[now ^ 1]);
    __syncthreads();
  }

  int column = column0 + thread_column;
  if (column >= columns) return;
  Four offset = stitch::load<4>(bias + column, 0);
#pragma unroll
  for (int i = 0; i < thread_rows; ++i) {
    int row = row0 + thread_row + i;
    if (row >= rows) break;
    float* out = gelu + static_cast<int64_t>(row) * columns + column;
    Four values;
    for (int j = 0; j < 4; ++j) values[j] = stitch::gelu_erf(sums[i][j] + offset[j]);
    if constexpr (aligned)
      stitch::store<4>(out, 0, values);
    else
      for (int j = 0; j < 4; ++j) out[j] = values[j];
  }
}

__global__ void transpose_weight(const float* __restrict__ weight,  // (180, 260)
                                 float* __restrict__ packed) {      // (260, 180)
  int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < columns * depth) packed[index] = weight[index % columns * depth + index / columns];
}

}  // namespace

StitchStatus pack_weight(const float* weight, float* packed, cudaStream_t stream) {
  dim3 blocks(static_cast<unsigned>(stitch::divide_up(columns * depth, 256)));
  return stitch::launch("transpose_weight", transpose_weight, {blocks, 256}, stream, weight, packed);
}

StitchStatus enqueue_linear_gelu(const float* x, const float* packed, const float* bias, float* gelu,
                                 cudaStream_t stream) {
  bool aligned = stitch::is_aligned(x, 16) && stitch::is_aligned(gelu, 16);
  dim3 blocks(static_cast<unsigned>(stitch::divide_up(columns, tile_columns)),
              static_cast<unsigned>(stitch::divide_up(rows, tile_rows)));
  return stitch::launch("linear_gelu", aligned ? linear_gelu<true> : linear_gelu<false>, {blocks, threads},
                        stream, x, packed, bias, gelu);
}
