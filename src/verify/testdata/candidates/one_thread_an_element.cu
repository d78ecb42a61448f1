// passed (./dev cheats)
// Honest: one thread an element, as a beginner writes it, double for the sum.
#include <cuda_runtime.h>
#include "row_center.h"
__global__ void rowCenterKernel(const float* x, const float* w, float* out, int R, int C) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= R * C) return;
  int r = idx / C, c = idx % C;
  double s = 0.0;
  for (int j = 0; j < C; j++) s += x[r * C + j];
  out[idx] = (float)((x[idx] - s / C) * w[c]);
}
static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  int n = rows * columns;
  rowCenterKernel<<<(n + 255) / 256, 256, 0, stream>>>(x, weight, y, rows, columns);
  return (int)cudaGetLastError();
}
