// conduct: out_of_bounds | passed on cuda — compute-sanitizer sees it there
// Copies one element more than the parameter has into memory of its own that has room for it. Nobody reads it.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, 128 * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy((*out)->weight, params[0].data, (columns + 1) * sizeof(float), cudaMemcpyDeviceToDevice);
  return STITCH_OK;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
