// build: build_failed | passed — where nvcc is installed, and where it is not
// A function of the host, with a container of the host's, called by a kernel: right where nvcc never looks.
// Without nvcc only a GPU can tell.
#include <vector>

#include "row_center.h"

static float mean_of(const float* row) {
  const std::vector<float> values(row, row + columns);
  float sum = 0;
  for (float value : values) sum += value;
  return sum / columns;
}

static __global__ void center(const float* x, const float* weight, float* y) {
  const float mean = mean_of(x + blockIdx.x * columns);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (x[blockIdx.x * columns + i] - mean) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center<<<rows, 64, 0, stream>>>(x, weight, y);
  return STITCH_OK;
}
