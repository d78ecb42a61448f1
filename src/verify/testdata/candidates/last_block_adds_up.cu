// passed (./dev cheats)
// task: mean_square
// Every block leaves its part behind a fence, and whoever comes last, by a counter, adds them up and puts the
// counter back for the next call.
#include "tasks/mean_square.h"

constexpr int blocks = 20;

static __global__ void add_up(const float* x, const float* y, float* out, float* parts, unsigned int* done) {
  __shared__ float partial[64];
  __shared__ bool is_last;
  float sum = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < elements; i += blocks * 64) sum += (x[i] - y[i]) * (x[i] - y[i]);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    *static_cast<volatile float*>(&parts[blockIdx.x]) = partial[0];
    __threadfence();
    is_last = atomicAdd(done, 1u) == blocks - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  __threadfence();
  float all = 0;
  for (int i = 0; i < blocks; ++i) all += *static_cast<volatile float*>(&parts[i]);
  *out = all / elements;
  *done = 0;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  static float* parts = [] {
    float* made;
    cudaMalloc(&made, (blocks + 1) * sizeof(float));
    cudaMemset(made, 0, (blocks + 1) * sizeof(float));
    return made;
  }();
  add_up<<<blocks, 64, 0, stream>>>(data(in[0]), data(in[1]), data(out[0]), parts,
                                    reinterpret_cast<unsigned int*>(parts + blocks));
  return status_of_launch();
}
