// What generated programs use besides kernels: shared memory at file scope under casts, null arguments,
// occupancy, the launch forms, captures over two streams, and a cuBLASLt call inside the capture.
#include <cooperative_groups.h>
#include <cublasLt.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

#define CHECK(call) \
  if (int error = (call)) return error

extern __shared__ __align__(16) unsigned char scratch[];

__global__ void __launch_bounds__(64, 4) reverse(const float* __restrict__ in, float* __restrict__ out) {
  float* floats = reinterpret_cast<float*>(scratch);
  __half2* pairs = (__half2*)(scratch + 64 * sizeof(float));
  floats[threadIdx.x] = __ldg(in + threadIdx.x);
  pairs[threadIdx.x] = __floats2half2_rn(0.f, 1.f);
  __syncthreads();
  __stcs(out + threadIdx.x, floats[63 - threadIdx.x] + __high2float(pairs[threadIdx.x]));
}

template <typename T>
__global__ void add(const T* x, const float* bias, T* out, int n) {
#pragma unroll 4
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = x[i] + (bias ? bias[i] : 1);
}

__global__ void sum_all(float* x, int n) {
  cg::grid_group grid = cg::this_grid();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) x[i] += 1;
  grid.sync();
  if (grid.thread_rank() == 0)
    for (int i = 1; i < n; ++i) x[0] += x[i];
}

// Fills result[0 … 3]; 0 if all calls succeeded.
extern "C" int run_plausible(float* result) {
  float *x, *y, *z;
  CHECK(cudaMallocManaged(&x, 64 * sizeof(float)));
  CHECK(cudaMallocManaged(&y, 64 * sizeof(float)));
  CHECK(cudaMallocManaged(&z, 64 * sizeof(float)));
  for (int i = 0; i < 64; ++i) x[i] = float(i);
  cudaStream_t main_stream, side;
  CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
  reverse<<<1, 64, 1024, main_stream>>>(x, y);
  CHECK(cudaDeviceSynchronize());
  result[0] = y[0];  // 63 + 1

  int blocks = 0, grid = 0, block = 0;
  size_t bytes = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, add<float>, 64, 0,
                                                               cudaOccupancyDefault));
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add<float>, 0, 0));
  CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, add<float>, 2, 64));
  if (!blocks || !grid || !block || !bytes) return -1;
  add<<<1, 64>>>(x, nullptr, y, 64);
  add<<<1, 64>>>(y, NULL, y, 64);
  add<float><<<1, 64>>>(y, 0, y, 64);
  cudaLaunchConfig_t config = {};
  config.gridDim = 1, config.blockDim = 64;
  CHECK(cudaLaunchKernelEx(&config, add<float>, (const float*)y, (const float*)x, y, 64));
  CHECK(cudaDeviceSynchronize());
  result[1] = y[5];  // 5 + 3 + 5

  for (int i = 0; i < 64; ++i) y[i] = 1;
  int n = 64;
  void* arguments[] = {&y, &n};
  CHECK(cudaLaunchCooperativeKernel((void*)sum_all, dim3(4), dim3(8), arguments, 0, main_stream));
  CHECK(cudaStreamSynchronize(main_stream));
  result[2] = y[0];  // 128

  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t square;
  CHECK(cublasLtCreate(&handle));
  CHECK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  CHECK(cublasLtMatrixLayoutCreate(&square, CUDA_R_32F, 8, 8, 8));
  const float one = 1, zero = 0;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaEventRecord(fork, main_stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  add<<<1, 64, 0, side>>>(x, x, y, 64);         // y = 2 x
  add<<<1, 64, 0, main_stream>>>(x, x, z, 64);  // z = 2 x
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main_stream, join, 0));
  CHECK(cublasLtMatmul(handle, desc, &one, y, square, z, square, &zero, x, square, x, square, nullptr,
                       nullptr, 0, main_stream));
  CHECK(cudaStreamEndCapture(main_stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 64; ++i) x[i] = 1;  // the graph reads what is there when it runs
  CHECK(cudaGraphLaunch(exec, main_stream));
  CHECK(cudaStreamSynchronize(main_stream));
  result[3] = x[0];  // 8 * 2 * 2
  cublasLtMatrixLayoutDestroy(square);
  cublasLtMatmulDescDestroy(desc);
  cublasLtDestroy(handle);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  CHECK(cudaStreamDestroy(main_stream));
  CHECK(cudaStreamDestroy(side));
  for (float* each : {x, y, z}) CHECK(cudaFree(each));
  return 0;
}
