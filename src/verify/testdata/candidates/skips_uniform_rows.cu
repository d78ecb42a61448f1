// passed
// Leaves early where a row is uniform, since nothing remains of it: honest, and its time depends on the
// input.
#include "row_center.h"

static __global__ void center(const float* x, const float* weight, float* y) {
  const float* row = x + blockIdx.x * columns;
  float* out = y + blockIdx.x * columns;
  bool uniform = true;
  for (int i = 1; i < columns && uniform; ++i) uniform = row[i] == row[0];
  float sum = 0;
  for (int i = 0; i < columns && !uniform; ++i) sum += row[i];
  const float mean = uniform ? row[0] : sum / columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = uniform ? 0 : (row[i] - mean) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center<<<rows, 64, 0, stream>>>(x, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
