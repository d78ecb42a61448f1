// passed (./dev cheats)
// Honest: a graph with a child graph in it, made anew in each call.
#include "row_center.h"
static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &status);
  if (status != cudaStreamCaptureStatusNone) return honest(x, weight, y, stream);
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed);
  honest(x, weight, y, own);
  cudaGraph_t child = nullptr, parent = nullptr;
  cudaStreamEndCapture(own, &child);
  cudaGraphCreate(&parent, 0);
  cudaGraphNode_t node;
  cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, child);
  cudaGraphExec_t ready = nullptr;
  if (cudaGraphInstantiate(&ready, parent, 0) != cudaSuccess) return STITCH_DEVICE_ERROR;
  cudaGraphLaunch(ready, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(parent);
  cudaGraphDestroy(child);
  cudaStreamDestroy(own);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
