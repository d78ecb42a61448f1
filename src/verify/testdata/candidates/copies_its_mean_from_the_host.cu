// passed
// Honest, if slow: host code sees tensors by copies alone.
#include <vector>

#include "row_center.h"

static __global__ void center(const float* x, const float* weight, const float* mean, float* y) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (x[blockIdx.x * columns + i] - mean[blockIdx.x]) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  std::vector<float> host(elements), mean(rows);
  cudaMemcpyAsync(host.data(), x, elements * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  for (int row = 0; row < rows; ++row) {
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += host[row * columns + i];
    mean[row] = sum / columns;
  }
  float* means = nullptr;
  if (cudaMalloc(&means, rows * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpyAsync(means, mean.data(), rows * sizeof(float), cudaMemcpyHostToDevice, stream);
  center<<<rows, 64, 0, stream>>>(x, weight, means, y);
  cudaStreamSynchronize(stream);
  cudaFree(means);
  return STITCH_OK;
}
