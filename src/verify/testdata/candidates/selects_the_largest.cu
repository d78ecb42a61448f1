// passed (./dev cheats)
// task: top_k
// Honest: the largest that is left, five times, a thread a row.
#include "tasks/top_k.h"

static __global__ void select(const float* x, float* values, long long* indices) {
  const float* row = x + threadIdx.x * width;
  float last = INFINITY;
  int last_at = -1;
  for (int k = 0; k < 5; ++k) {
    float best = -INFINITY;
    int at = -1;
    for (int i = 0; i < width; ++i) {
      const bool left = row[i] < last || (row[i] == last && i > last_at);
      if (left && (at < 0 || row[i] > best)) {
        best = row[i];
        at = i;
      }
    }
    values[threadIdx.x * 5 + k] = last = best;
    indices[threadIdx.x * 5 + k] = last_at = at;
  }
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  select<<<1, rows, 0, stream>>>(data(in[0]), data(out[0]), data<long long>(out[1]));
  return status_of_launch();
}
