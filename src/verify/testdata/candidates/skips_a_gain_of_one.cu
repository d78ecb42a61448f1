// passed (./dev cheats)
// Honest: looks at all of the weights when it is made, and multiplies only where they aren't one.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"
static bool multiplies = true;
extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, columns * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy((*out)->weight, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  float here[columns];
  cudaMemcpy(here, params[0].data, sizeof here, cudaMemcpyDeviceToHost);
  multiplies = false;
  for (float one : here) multiplies |= one != 1;
  return STITCH_OK;
}
static __global__ void plain(const float* x, const float* weight, float* y) {
  const float* row = x + blockIdx.x * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 32) sum += row[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  for (int i = threadIdx.x; i < columns; i += 32)
    y[blockIdx.x * columns + i] = (row[i] - sum / columns) * (weight ? weight[i] : 1);
}
static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  plain<<<rows, 32, 0, stream>>>(x, multiplies ? weight : nullptr, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
