// correctness: wrong (./dev cheats)
// Packs weights once a process: those of the first program, for good.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

static float* packed = nullptr;

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram{nullptr};
  if (packed) return STITCH_OK;
  if (cudaMalloc(&packed, columns * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy(packed, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  return STITCH_OK;
}

static int run(const float* x, const float*, float* y, cudaStream_t stream) {
  return honest(x, packed, y, stream);
}
