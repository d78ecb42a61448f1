// passed (./dev cheats)
// Asks for inputs to stay in the cache: the next call has others elsewhere, so that it gains nothing.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
#ifndef STITCH_EMULATED
  cudaStreamAttrValue window = {};
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);
  window.accessPolicyWindow.base_ptr = const_cast<float*>(x);
  window.accessPolicyWindow.num_bytes = elements * sizeof(float);
  window.accessPolicyWindow.hitRatio = 1;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
#endif
  return honest(x, weight, y, stream);
}
