// conduct: shared_state
// The library's last program has the weights of all of them.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

static float* last_weight = nullptr;

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, columns * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy((*out)->weight, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  last_weight = (*out)->weight;
  return STITCH_OK;
}

static int run(const float* x, const float*, float* y, cudaStream_t stream) {
  return honest(x, last_weight, y, stream);
}
