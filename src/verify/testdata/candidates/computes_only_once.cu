// correctness: stale | wrong
// Computes once and hands the same result out for ever.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static float* kept = nullptr;
  if (!kept) {
    cudaMalloc(&kept, elements * sizeof(float));
    honest(x, weight, kept, stream);
  }
  cudaMemcpyAsync(y, kept, elements * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  return STITCH_OK;
}
