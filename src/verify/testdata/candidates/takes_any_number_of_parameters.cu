// conduct: accepts_anything | crashed
// stitch_create never looks at how many parameters it is given.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int, int, StitchProgram** out) {
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, columns * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy((*out)->weight, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  return STITCH_OK;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
