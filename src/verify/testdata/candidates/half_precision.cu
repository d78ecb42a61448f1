// correctness: wrong
// Ten mantissa bits where the class allows twenty-three.
#include <cuda_fp16.h>

#include "row_center.h"

static __global__ void round_all(float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) y[i] = __half2float(__float2half(y[i]));
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  int status = honest(x, weight, y, stream);
  round_all<<<(elements + 127) / 128, 128, 0, stream>>>(y);
  return status;
}
