// passed (./dev cheats)
// Tells its kernel where rows begin by a table that comes from the host in every call, in order with the
// stream.
#include "row_center.h"

struct Table {
  int first[rows];
};

static Table* there = nullptr;

static __global__ void center_by_table(const float* x, const Table* table, const float* weight, float* y) {
  const int first = table->first[blockIdx.x];
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[first + i];
  y[first + threadIdx.x] = (x[first + threadIdx.x] - sum / columns) * weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static const Table table = [] {
    Table made;
    for (int row = 0; row < rows; ++row) made.first[row] = row * columns;
    return made;
  }();
  if (!there && cudaMalloc(&there, sizeof table) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpyAsync(there, &table, sizeof table, cudaMemcpyHostToDevice, stream);
  center_by_table<<<rows, columns, 0, stream>>>(x, there, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
