// Dropout descriptors for recurrent networks; no effect in inference.
#include "cudnn/descriptors.h"

using namespace stitch_emulated;

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* dropout) {
  *dropout = new cudnnDropoutStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropout) {
  delete dropout;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* bytes) {
  if (!handle || !bytes) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  *bytes = 4096;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle,
                                        float probability, void* states, size_t state_bytes,
                                        unsigned long long) {
  if (!dropout || !handle) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (!(probability >= 0 && probability <= 1))
    return refuse(CUDNN_STATUS_BAD_PARAM, "the probability is outside 0 to 1");
  if (states && state_bytes < 4096) return refuse(CUDNN_STATUS_BAD_PARAM, "the states are too small");
  dropout->probability = probability;
  return CUDNN_STATUS_SUCCESS;
}
