// conduct: shared_state
// Weights are copied into __constant__ memory in stitch_create: a second program of the library overwrites them.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

static __constant__ float constant_weight[columns];

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  if (cudaMemcpyToSymbol(constant_weight, params[0].data, sizeof constant_weight, 0,
                         cudaMemcpyDeviceToDevice) != cudaSuccess)
    return STITCH_DEVICE_ERROR;
  *out = new StitchProgram{nullptr};
  return STITCH_OK;
}

static __global__ void center_with_constants(const float* x, float* y) {
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[blockIdx.x * columns + i];
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] - sum / columns) * constant_weight[threadIdx.x];
}

static int run(const float* x, const float*, float* y, cudaStream_t stream) {
  center_with_constants<<<rows, columns, 0, stream>>>(x, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
