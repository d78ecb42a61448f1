// passed (./dev cheats)
// Weights laid out anew when the program is made, and kept: what create() is for.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

static __global__ void pack(const float* weight, float* packed) {
  packed[threadIdx.x] = weight[threadIdx.x] / columns;
}

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, columns * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  pack<<<1, columns>>>(static_cast<const float*>(params[0].data), (*out)->weight);
  return cudaDeviceSynchronize() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}

static __global__ void center_with_packed(const float* x, const float* packed, float* y) {
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[blockIdx.x * columns + i];
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] * columns - sum) * packed[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center_with_packed<<<rows, columns, 0, stream>>>(x, weight, y);
  return STITCH_OK;
}
