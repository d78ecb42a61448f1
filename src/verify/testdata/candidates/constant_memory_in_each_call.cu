// conduct: shared_state | passed on cuda — programs are run beside each other where streams can be interleaved
// Each call brings its program's weights into __constant__ memory, in its stream: another program's call on
// another stream brings its own.
#include "row_center.h"

static __constant__ float weights[columns];

static __global__ void center(const float* x, float* y) {
  const float* row = x + blockIdx.x * columns;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += row[i];
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (row[i] - sum / columns) * weights[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  if (cudaMemcpyToSymbolAsync(weights, weight, sizeof weights, 0, cudaMemcpyDeviceToDevice, stream) != cudaSuccess)
    return STITCH_DEVICE_ERROR;
  center<<<rows, 64, 0, stream>>>(x, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
