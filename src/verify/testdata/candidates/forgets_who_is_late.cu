// thread order: missing_barrier | missing_dependency | passed on cuda | correctness: wrong on cuda — the emulated GPU alone chooses who is late
// Three warps: the first writes rows into two buffers by turns and waits for the second, which is quick; the third, which
// computes, is waited for by nobody. It is wrong only where that one is two rows late.
#include "row_center.h"

static __global__ void in_a_pipeline(const float* x, const float* weight, float* y) {
  __shared__ float buffer[2][columns];
  __shared__ volatile int written, seen;
  if (threadIdx.x == 0) {
    written = 0;
    seen = 0;
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane != 0) return;
  if (warp == 0) {
    for (int row = 0; row < rows; ++row) {
      while (seen < row) __nanosleep(20);
      for (int i = 0; i < columns; ++i) buffer[row % 2][i] = x[row * columns + i];
      __threadfence_block();
      written = row + 1;
    }
  } else if (warp == 1) {
    for (int row = 0; row < rows; ++row) {
      while (written <= row) __nanosleep(20);
      seen = row + 1;
    }
  } else {
    for (int row = 0; row < rows; ++row) {
      while (written <= row) __nanosleep(20);
      float sum = 0;
      for (int i = 0; i < columns; ++i) sum += buffer[row % 2][i];
      for (int i = 0; i < columns; ++i) y[row * columns + i] = (buffer[row % 2][i] - sum / columns) * weight[i];
    }
  }
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  in_a_pipeline<<<1, 96, 0, stream>>>(x, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
