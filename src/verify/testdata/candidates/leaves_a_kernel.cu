// correctness: hung
// Right at once, but a kernel on a stream of its own never ends.
#include "row_center.h"

static __global__ void linger(volatile int* stop) {
  while (*stop == 0) *(stop + 1) = *(stop + 1) + 1;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static int* flag = [] {
    int* memory;
    cudaMalloc(&memory, 2 * sizeof(int));
    cudaMemset(memory, 0, 2 * sizeof(int));
    return memory;
  }();
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  int status = honest(x, weight, y, stream);
  linger<<<1, 1, 0, own>>>(flag);
  return status;
}
