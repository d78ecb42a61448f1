// screen: screened (./dev cheats)
// A host function as a node of a graph.
#include "row_center.h"
static void CUDART_CB on_host(void*) {}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  cudaGraph_t graph;
  if (cudaGraphCreate(&graph, 0) != cudaSuccess) return STITCH_DEVICE_ERROR;
  cudaGraphNode_t node;
  cudaHostNodeParams parameters = {on_host, nullptr};
  if (cudaGraphAddHostNode(&node, graph, nullptr, 0, &parameters) != cudaSuccess) return STITCH_DEVICE_ERROR;
  cudaGraphExec_t ready;
  if (cudaGraphInstantiate(&ready, graph, 0) != cudaSuccess) return STITCH_DEVICE_ERROR;
  cudaGraphLaunch(ready, stream);
  return honest(x, weight, y, stream);
}
