// passed (./dev cheats)
// A sum that the compiler unrolls by recursion over templates, in double, with a table made at compile time.
#include "row_center.h"

template <int count>
struct Table {
  double reciprocal[count] = {};
  constexpr Table() {
    for (int i = 1; i < count; ++i) reciprocal[i] = 1.0 / i;
  }
};
constexpr Table<columns + 1> table;

template <int from, int to>
static __device__ double sum_of(const float* row) {
  if constexpr (to - from == 1)
    return row[from];
  else
    return sum_of<from, (from + to) / 2>(row) + sum_of<(from + to) / 2, to>(row);
}

static __global__ void center(const float* x, const float* weight, float* y, double share) {
  const float* row = x + blockIdx.x * columns;
  const double mean = sum_of<0, columns>(row) * share;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = static_cast<float>((row[i] - mean) * weight[i]);
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center<<<rows, 32, 0, stream>>>(x, weight, y, table.reciprocal[columns]);
  return STITCH_OK;
}
