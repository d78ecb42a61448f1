// passed (./dev cheats)
// More shared memory than a kernel gets unasked: all of the input in one block.
#include "row_center.h"

static __global__ void center_all(const float* x, const float* weight, float* y) {
  extern __shared__ float held[];
  float* means = held + 16 * elements;
  for (int i = threadIdx.x; i < elements; i += blockDim.x) held[i] = x[i];
  __syncthreads();
  for (int row = threadIdx.x; row < rows; row += blockDim.x) {
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += held[row * columns + i];
    means[row] = sum / columns;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < elements; i += blockDim.x) y[i] = (held[i] - means[i / columns]) * weight[i % columns];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  constexpr int bytes = (16 * elements + rows) * sizeof(float);  // 154 KB
  static const cudaError_t asked =
      cudaFuncSetAttribute(center_all, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (asked != cudaSuccess) return STITCH_DEVICE_ERROR;
  center_all<<<1, 256, bytes, stream>>>(x, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
