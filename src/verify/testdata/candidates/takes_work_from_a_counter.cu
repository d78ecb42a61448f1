// passed (./dev cheats)
// A few blocks that stay and take row after row from a counter, which the stream puts back before each call.
#include "row_center.h"

static __global__ void center_by_turns(const float* x, const float* weight, float* y, int* next) {
  __shared__ int row;
  for (;;) {
    if (threadIdx.x == 0) row = atomicAdd(next, 1);
    __syncthreads();
    const int mine = row;
    __syncthreads();
    if (mine >= rows) return;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32) sum += x[mine * columns + i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    for (int i = threadIdx.x; i < columns; i += 32)
      y[mine * columns + i] = (x[mine * columns + i] - sum / columns) * weight[i];
  }
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static int* next = [] {
    int* made;
    cudaMalloc(&made, sizeof(int));
    return made;
  }();
  cudaMemsetAsync(next, 0, sizeof(int), stream);
  center_by_turns<<<8, 32, 0, stream>>>(x, weight, y, next);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
