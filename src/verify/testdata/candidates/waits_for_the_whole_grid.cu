// passed (./dev cheats)
// One cooperative launch: all blocks sum up, all wait, all subtract.
#include <cooperative_groups.h>

#include "row_center.h"

static __global__ void center_together(const float* x, const float* weight, float* means, float* y) {
  namespace cg = cooperative_groups;
  cg::grid_group grid = cg::this_grid();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32) sum += x[row * columns + i];
    for (int offset = 16; offset > 0; offset /= 2) sum += warp.shfl_down(sum, offset);
    if (threadIdx.x == 0) means[row] = sum / columns;
  }
  grid.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += gridDim.x * blockDim.x)
    y[i] = (x[i] - means[i / columns]) * weight[i % columns];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static float* means = [] {
    float* made;
    cudaMalloc(&made, rows * sizeof(float));
    return made;
  }();
  void* arguments[] = {&x, &weight, &means, &y};
  return cudaLaunchCooperativeKernel(reinterpret_cast<void*>(center_together), dim3(8), dim3(32), arguments, 0,
                                     stream) == cudaSuccess
             ? STITCH_OK
             : STITCH_DEVICE_ERROR;
}
