// conduct: leaks | passed on cuda — memory there comes in large pieces, and is others' too
// Memory of the host that a device reads, and no destroy frees.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  void* spare = nullptr;
  if (cudaMallocHost(&spare, 1 << 16) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  if (cudaMalloc(&(*out)->weight, columns * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy((*out)->weight, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  return STITCH_OK;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
