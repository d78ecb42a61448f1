// conduct: crashed (./dev cheats)
// stitch_create reads a parameter by a kernel, wherever its pointer points.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

static __global__ void pack(const float* from, float* to) { to[threadIdx.x] = from[threadIdx.x]; }

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, columns * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  pack<<<1, columns>>>(static_cast<const float*>(params[0].data), (*out)->weight);
  return cudaDeviceSynchronize() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
