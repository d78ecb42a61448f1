// Functions looked up by name: launch log, poison, guards.
#include <cublasLt.h>
#include <dlfcn.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "emulator/test_device.h"

namespace stitch::emulated {

// External linkage, so that the symbol table has their names.
__global__ void logged_kernel(float* x) {
  __shared__ float staged[32];
  STITCH_FRESH(staged);
  staged[threadIdx.x % 32] = 1;
  x[0] = staged[0];
}
template <int N>
__global__ void logged_template(float* x) {
  x[0] = N;
}

namespace {

class LaunchLog : public OnDevice {
 protected:
  nlohmann::json log() { return nlohmann::json::parse(stitch_emulated_log_stop()); }
};

TEST_F(LaunchLog, NamesWhatWasExecuted) {
  Buffer<float> x(64), y(64);
  float host[4];
  stitch_emulated_log_start();
  STITCH_KERNEL(logged_kernel).on({2, 3}, 64, 512)(x.get());
  cudaMemcpy(host, x.get(), sizeof host, cudaMemcpyDeviceToHost);
  cudaMemset(y.get(), 0, 128);
  STITCH_KERNEL(logged_template<4>).on(1, 1)(x.get());
  const auto entries = log();
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0]["kind"], "kernel");
  EXPECT_NE(entries[0]["name"].get<std::string>().find("logged_kernel"), std::string::npos);
  EXPECT_EQ(entries[0]["grid"], (std::vector<int>{2, 3, 1}));
  EXPECT_EQ(entries[0]["block"], (std::vector<int>{64, 1, 1}));
  EXPECT_EQ(entries[0]["shared_static"], 128);
  EXPECT_EQ(entries[0]["shared_dynamic"], 512);
  EXPECT_EQ(entries[0]["graph"], false);
  EXPECT_EQ(entries[0]["used"], (std::vector<std::string>{"shared_memory"}));
  EXPECT_EQ(entries[1]["name"], "cudaMemcpy DeviceToHost");
  EXPECT_EQ(entries[1]["bytes"], 16);
  EXPECT_EQ(entries[2]["kind"], "memset");
  EXPECT_EQ(entries[2]["bytes"], 128);
  EXPECT_NE(entries[3]["name"].get<std::string>().find("logged_template<4>"), std::string::npos);
}
TEST_F(LaunchLog, ListsWhatGraphsReplayAndLibrariesDo) {
  Buffer<float> x(64, 1), y(64, 1), z(64);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cublasLtHandle_t handle;
  cublasLtCreate(&handle);
  cublasLtMatmulDesc_t desc;
  cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayout_t layout;
  cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 8, 8, 8);
  const float one = 1, zero = 0;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  STITCH_KERNEL(logged_kernel).on(1, 32, 0, stream)(x.get());
  cublasLtMatmul(handle, desc, &one, x.get(), layout, y.get(), layout, &zero, z.get(), layout, z.get(),
                 layout, nullptr, nullptr, 0, stream);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphInstantiate(&exec, graph);
  stitch_emulated_log_start();
  cudaGraphLaunch(exec, stream);
  const auto entries = log();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0]["graph"], true);
  EXPECT_EQ(entries[1]["kind"], "library");
  EXPECT_EQ(entries[1]["name"], "cublasLtMatmul 8x8x8");
  EXPECT_EQ(z[0], 8);
  cudaGraphNode_t nodes[2];
  size_t count = 2;
  cudaGraphNodeType type;
  cudaGraphGetNodes(graph, nodes, &count);
  cudaGraphNodeGetType(nodes[1], &type);
  EXPECT_EQ(type, cudaGraphNodeTypeKernel);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(desc);
  cublasLtDestroy(handle);
  cudaStreamDestroy(stream);
}
TEST_F(LaunchLog, IsEmptyUnlessAsked) {
  Buffer<float> x(64);
  STITCH_KERNEL(logged_kernel).on(1, 32)(x.get());
  EXPECT_STREQ(stitch_emulated_log_stop(), "[]");
}
TEST_F(LaunchLog, EverythingIsFoundByName) {
  for (const char* name :
       {"stitch_emulated_set_order", "stitch_emulated_set_poison", "stitch_emulated_set_threads",
        "stitch_emulated_set_memory", "stitch_emulated_last_report", "stitch_emulated_check_memory",
        "stitch_emulated_check_guards", "stitch_emulated_memory_in_use", "stitch_emulated_allocation_count",
        "stitch_emulated_log_start", "stitch_emulated_log_stop"})
    EXPECT_TRUE(dlsym(RTLD_DEFAULT, name)) << name;
}

using Poison = OnDevice;

__global__ void read_shared(unsigned char* out) {
  __shared__ unsigned char mine;
  STITCH_FRESH(mine);
  *out = mine;
}
TEST_F(Poison, FillsFreshMemory) {
  for (int byte : {0xFF, 0x00, 0x3C}) {
    stitch_emulated_set_poison(byte);
    unsigned char* fresh;
    cudaMallocManaged(&fresh, 100);
    EXPECT_EQ(fresh[99], byte);
    STITCH_KERNEL(read_shared).on(1, 1)(fresh);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(fresh[0], byte);
    cudaFree(fresh);
  }
}
TEST_F(Poison, GuardsAreCheckedAtAnyTime) {
  STITCH_SKIP_UNDER_ASAN();
  unsigned char *whole, *damaged;
  cudaMallocManaged(&whole, 100);
  cudaMallocManaged(&damaged, 100);
  EXPECT_EQ(stitch_emulated_check_guards(), 0);
  damaged[100] = 1;
  EXPECT_EQ(stitch_emulated_check_guards(), 1);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);  // the check is no error
  EXPECT_NE(std::strstr(stitch_emulated_check_memory(), "written 0 bytes behind its end"), nullptr);
}

}  // namespace
}  // namespace stitch::emulated
