#define OWN_RUN
#include "program.cuh"

__global__ void spin(volatile float* y) {
  for (;;) y[0] = y[0] + 1;
}

extern "C" int stitch_run(StitchProgram*, const StitchTensor*, int, StitchTensor* out, int, void*) {
  spin<<<1, 32>>>(static_cast<float*>(out[0].data));
  return STITCH_OK;
}
