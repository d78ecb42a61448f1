// passed (./dev cheats)
// The output is scratch until it is the result: three kernels, each of which reads what the one before left
// there.
#include "row_center.h"

static __global__ void copy_rows(const float* x, float* y) {
  y[blockIdx.x * columns + threadIdx.x] = x[blockIdx.x * columns + threadIdx.x];
}

// One thread a row: subtracts the mean in place.
static __global__ void center_in_place(float* y) {
  float* row = y + threadIdx.x * columns;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += row[i];
  for (int i = 0; i < columns; ++i) row[i] -= sum / columns;
}

static __global__ void weigh_in_place(float* y, const float* weight) {
  y[blockIdx.x * columns + threadIdx.x] *= weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  copy_rows<<<rows, columns, 0, stream>>>(x, y);
  center_in_place<<<1, rows, 0, stream>>>(y);
  weigh_in_place<<<rows, columns, 0, stream>>>(y, weight);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
