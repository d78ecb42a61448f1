// passed
// Honest: means in memory that each program has for itself.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

// Right behind the weights.
static float* scratch_of(float* weight) { return weight + columns; }

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, (columns + rows) * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy((*out)->weight, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  return STITCH_OK;
}

// Weighted, so that another program's are others.
static __global__ void means(const float* x, const float* weight, float* mean) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[row * columns + i];
  mean[row] = sum / columns * weight[0];
}

static __global__ void center(const float* x, const float* weight, const float* mean, float* y) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (x[blockIdx.x * columns + i] - mean[blockIdx.x] / weight[0]) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  float* mean = scratch_of(const_cast<float*>(weight));
  means<<<2, 32, 0, stream>>>(x, weight, mean);
  center<<<rows, 64, 0, stream>>>(x, weight, mean, y);
  return STITCH_OK;
}
