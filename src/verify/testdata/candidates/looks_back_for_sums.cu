// conduct: shared_state | crashed | passed on cuda — its state is one for all programs, which are run beside each other where streams can be interleaved (./dev cheats)
// task: running_sum
// One pass over the data: each block takes a ticket, adds up its part, and waits for what those before it
// publish (decoupled look-back). Blocks that wait need others to go on.
#include "tasks/running_sum.h"

constexpr int part = 250, parts = columns / part, blocks = rows * parts;

struct Published {
  unsigned int next;          // ticket
  unsigned int ready[blocks];  // 0: nothing, 1: the sum up to here is there
  float sums[blocks];
};

static __global__ void scan(const float* x, float* y, Published* published) {
  __shared__ int ticket;
  __shared__ float before;
  __shared__ float values[part];
  if (threadIdx.x == 0) ticket = static_cast<int>(atomicAdd(&published->next, 1u));
  __syncthreads();
  const int mine = ticket, row = mine / parts, number = mine % parts, begin = row * columns + number * part;
  for (int i = threadIdx.x; i < part; i += blockDim.x) values[i] = x[begin + i];
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (float& value : values) value = sum += value;
    before = 0;
    if (number > 0) {
      while (atomicAdd(&published->ready[mine - 1], 0u) == 0) __nanosleep(100);
      __threadfence();
      before = *static_cast<volatile float*>(&published->sums[mine - 1]);
    }
    *static_cast<volatile float*>(&published->sums[mine]) = before + sum;
    __threadfence();
    atomicExch(&published->ready[mine], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < part; i += blockDim.x) y[begin + i] = before + values[i];
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  static Published* published = [] {
    Published* made;
    cudaMalloc(&made, sizeof(Published));
    return made;
  }();
  cudaMemsetAsync(published, 0, sizeof(Published), stream);
  scan<<<blocks, 64, 0, stream>>>(data(in[0]), data(out[0]), published);
  return status_of_launch();
}
