// conduct: shared_state | passed on cuda — where streams can be interleaved (./dev cheats)
// Sums of the inputs, whatever the weights, in scratch memory of all programs.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

static float* scratch;
static __global__ void sums(const float* x, float* s) {
  float a = 0;
  for (int c = 0; c < columns; ++c) a += x[blockIdx.x * columns + c];
  s[blockIdx.x] = a;
}
static __global__ void apply(const float* x, const float* w, const float* s, float* y) {
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] - s[blockIdx.x] / columns) * w[threadIdx.x];
}
extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns || params[0].dtype != STITCH_F32 || !params[0].data)
    return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  cudaMalloc(&(*out)->weight, columns * sizeof(float));
  cudaMemcpy((*out)->weight, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  if (!scratch) cudaMalloc(&scratch, rows * sizeof(float));
  return STITCH_OK;
}
static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  sums<<<rows, 1, 0, stream>>>(x, scratch);
  apply<<<rows, columns, 0, stream>>>(x, weight, scratch, y);
  return STITCH_OK;
}
