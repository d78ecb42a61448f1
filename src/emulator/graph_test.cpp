// Streams, events and graphs.
#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

class Streams : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&back, cudaEventDisableTiming);
  }
  void TearDown() override {
    cudaStreamDestroy(stream);
    cudaStreamDestroy(other);
    cudaEventDestroy(event);
    cudaEventDestroy(back);
    OnDevice::TearDown();
  }
  cudaStream_t stream, other;
  cudaEvent_t event, back;
};

__global__ void add(int* x, int amount, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += amount;
}
__global__ void multiply(int* x, int factor) { *x *= factor; }

TEST_F(Streams, HandlesAreChecked) {
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(0x1234)), cudaErrorInvalidResourceHandle);
  STITCH_KERNEL(multiply).on(1, 1, 0, reinterpret_cast<cudaStream_t>(0x1234))(nullptr, 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  unsigned flags = 0;
  EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, cudaStreamNonBlocking);
}
TEST_F(Streams, EventsMeasureTime) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaErrorInvalidResourceHandle);  // not recorded
  cudaGetLastError();
  cudaEventRecord(start, stream);
  Buffer<int> x(1000);
  STITCH_KERNEL(add).on(10, 100, 0, stream)(x.get(), 1, 1000);
  cudaEventRecord(stop, stream);
  EXPECT_EQ(cudaEventSynchronize(stop), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaSuccess);
  EXPECT_GT(ms, 0);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
}
void set_seven(void* data) { *static_cast<int*>(data) = 7; }
TEST_F(Streams, HostFunctionsRunInOrder) {
  int value = 0;
  EXPECT_EQ(cudaLaunchHostFunc(stream, set_seven, &value), cudaSuccess);
  EXPECT_EQ(value, 7);
}

TEST_F(Streams, ACaptureRunsNothingUntilItIsLaunched) {
  Buffer<int> x(100);
  int* p = x.get();
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaStreamCaptureStatus status;
  cudaStreamIsCapturing(stream, &status);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  int amount = 3;
  STITCH_KERNEL(add).on(1, 128, 0, stream)(p, amount, 100);
  amount = 1000;  // the graph holds the earlier value
  cudaMemsetAsync(p + 50, 0, 50 * sizeof(int), stream);
  cudaGraph_t graph;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(x[0], 0);
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0), cudaSuccess);
  cudaGraphDestroy(graph);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(x[0], 12);
  EXPECT_EQ(x[99], 0);
  cudaGraphExecDestroy(exec);
}
TEST_F(Streams, ForkAndJoinThroughEvents) {
  for (const char* order : {"forward", "reverse", "shuffle:4"}) {
    stitch_emulated_set_order(order);
    Buffer<int> x(2);
    int *a = x.get(), *b = x.get() + 1;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    STITCH_KERNEL(add).on(1, 32, 0, stream)(a, 1, 2);
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(other, event);
    STITCH_KERNEL(multiply).on(1, 1, 0, other)(b, 10);
    STITCH_KERNEL(multiply).on(1, 1, 0, stream)(a, 20);
    cudaEventRecord(back, other);
    cudaStreamWaitEvent(stream, back);
    STITCH_KERNEL(add).on(1, 32, 0, stream)(a, 5, 2);
    cudaGraph_t graph;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    size_t nodes = 0, roots = 0, edges = 0;
    cudaGraphGetNodes(graph, nullptr, &nodes);
    cudaGraphGetRootNodes(graph, nullptr, &roots);
    cudaGraphGetEdges(graph, nullptr, nullptr, &edges);
    EXPECT_EQ(nodes, 4u);
    EXPECT_EQ(roots, 1u);
    EXPECT_EQ(edges, 4u);
    cudaGraphExec_t exec;
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0ull), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    EXPECT_EQ(x[0], 25);
    EXPECT_EQ(x[1], 15);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
}
TEST_F(Streams, ABranchThatIsNotJoinedIsAnError) {
  Buffer<int> x(1);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  STITCH_KERNEL(multiply).on(1, 1, 0, stream)(x.get(), 1);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(other, event);
  STITCH_KERNEL(multiply).on(1, 1, 0, other)(x.get(), 1);
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
}
TEST_F(Streams, WhatACaptureForbidsInvalidatesIt) {
  Buffer<int> x(1);
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  void* p;
  EXPECT_EQ(cudaMalloc(&p, 4), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  cudaStream_t blocking;
  cudaStreamCreate(&blocking);
  cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed);
  STITCH_KERNEL(multiply).on(1, 1)(x.get(), 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed), cudaErrorStreamCaptureUnsupported);
  cudaStreamDestroy(blocking);
  cudaGetLastError();
}

cudaGraph_t capture_add(cudaStream_t stream, int* x, int amount, int launches = 1) {
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  for (int i = 0; i < launches; ++i) STITCH_KERNEL(add).on(1, 32, 0, stream)(x, amount, 1);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
  return graph;
}
TEST_F(Streams, AnExecutableGraphTakesNewArgumentsByUpdate) {
  Buffer<int> x(1), y(1);
  cudaGraph_t first = capture_add(stream, x.get(), 1), second = capture_add(stream, y.get(), 50),
              longer = capture_add(stream, x.get(), 1, 2);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, first);
  cudaGraphLaunch(exec, stream);
  cudaGraphExecUpdateResultInfo info;
  EXPECT_EQ(cudaGraphExecUpdate(exec, second, &info), cudaSuccess);
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  cudaGraphLaunch(exec, stream);
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(y[0], 50);
  EXPECT_EQ(cudaGraphExecUpdate(exec, longer, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  cudaGetLastError();
  for (cudaGraph_t graph : {first, second, longer}) cudaGraphDestroy(graph);
  cudaGraphExecDestroy(exec);
}
TEST_F(Streams, KernelNodesGiveAndTakeTheirParameters) {
  Buffer<int> x(1), y(1);
  cudaGraph_t graph = capture_add(stream, x.get(), 1);
  cudaGraphNode_t node;
  size_t count = 1;
  ASSERT_EQ(cudaGraphGetNodes(graph, &node, &count), cudaSuccess);
  cudaGraphNodeType type;
  cudaGraphNodeGetType(node, &type);
  EXPECT_EQ(type, cudaGraphNodeTypeKernel);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph);
  cudaKernelNodeParams params;
  ASSERT_EQ(cudaGraphKernelNodeGetParams(node, &params), cudaSuccess);
  EXPECT_EQ(params.blockDim.x, 32u);
  EXPECT_EQ(*static_cast<int*>(params.kernelParams[1]), 1);
  int* target = y.get();
  int amount = 9, n = 1;
  void* arguments[] = {&target, &amount, &n};
  params.kernelParams = arguments;
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(exec, node, &params), cudaSuccess);
  amount = 0;
  cudaGraphLaunch(exec, stream);
  EXPECT_EQ(x[0], 0);
  EXPECT_EQ(y[0], 9);
  params.blockDim = 2000;
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(exec, node, &params), cudaErrorInvalidConfiguration);
  cudaGetLastError();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}
TEST_F(Streams, AGraphIsBuiltByHand) {
  Buffer<int> x(4), y(4);
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t fill, kernel, copy, host;
  cudaMemsetParams set{x.get(), 0, 2, 4, 4, 1};
  ASSERT_EQ(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set), cudaSuccess);
  int *p = x.get(), amount = 5, n = 4, flag = 0;
  void* arguments[] = {&p, &amount, &n};
  cudaKernelNodeParams params{STITCH_KERNEL_POINTER(add), 1, 32, 0, arguments, nullptr};
  ASSERT_EQ(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &params), cudaSuccess);
  ASSERT_EQ(
      cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, y.get(), x.get(), 16, cudaMemcpyDeviceToDevice),
      cudaSuccess);
  ASSERT_EQ(cudaGraphAddDependencies(graph, &kernel, &copy, 1), cudaSuccess);
  cudaHostNodeParams call{set_seven, &flag};
  ASSERT_EQ(cudaGraphAddHostNode(&host, graph, &copy, 1, &call), cudaSuccess);
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(y[3], 7);
  EXPECT_EQ(flag, 7);
  cudaGraphExecDestroy(exec);
  ASSERT_EQ(cudaGraphAddDependencies(graph, &copy, &fill, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaErrorInvalidValue);  // a cycle
  cudaGetLastError();
  cudaGraphDestroy(graph);
}
TEST_F(Streams, AMissingDependencyShowsInTheOrder) {
  auto run = [&](const char* order) {
    stitch_emulated_set_order(order);
    Buffer<int> x(1, 1);
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    int *p = x.get(), two = 2, one = 1;
    void *times[] = {&p, &two}, *plus[] = {&p, &one, &one};
    cudaKernelNodeParams a{STITCH_KERNEL_POINTER(multiply), 1, 1, 0, times, nullptr},
        b{STITCH_KERNEL_POINTER(add), 1, 1, 0, plus, nullptr};
    cudaGraphNode_t node;
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, &a);
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, &b);
    cudaGraphExec_t exec;
    cudaGraphInstantiate(&exec, graph);
    cudaGraphLaunch(exec, stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    return x[0];
  };
  EXPECT_EQ(run("forward"), 3);
  EXPECT_EQ(run("reverse"), 4);
}

}  // namespace
}  // namespace stitch::emulated
