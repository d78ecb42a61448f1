// Costs of the emulated GPU: a barrier crossing, a shuffle, and the tiled matmul of 256^3 (goal: under 60 ms
// on two cores; 2.1 million barrier crossings).
#include <benchmark/benchmark.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

namespace {

__global__ void barriers(int rounds) {
  for (int i = 0; i < rounds; ++i) __syncthreads();
}
void BarrierCrossing(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  for (auto _ : state) STITCH_KERNEL(barriers).on(1, threads)(1000);
  state.counters["ns_per_thread"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 1000 * threads * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BarrierCrossing)->Arg(32)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

__global__ void shuffles(float* out, int rounds) {
  float value = static_cast<float>(threadIdx.x);
  for (int i = 0; i < rounds; ++i) value += __shfl_xor_sync(0xffffffffu, value, 1);
  out[threadIdx.x] = value;
}
void Shuffle(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  float* out;
  cudaMalloc(&out, threads * sizeof(float));
  for (auto _ : state) STITCH_KERNEL(shuffles).on(1, threads)(out, 1000);
  cudaFree(out);
  state.counters["ns_per_thread"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 1000 * threads * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(Shuffle)->Arg(32)->Arg(256)->Unit(benchmark::kMillisecond);

__global__ void relu(const float* in, float* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] > 0 ? in[i] : 0;
}
void Relu1M(benchmark::State& state) {
  float *in, *out;
  cudaMalloc(&in, 4 << 20);
  cudaMalloc(&out, 4 << 20);
  for (auto _ : state) STITCH_KERNEL(relu).on(4096, 256)(in, out, 1 << 20);
  cudaFree(in);
  cudaFree(out);
}
BENCHMARK(Relu1M)->Unit(benchmark::kMillisecond)->UseRealTime();

constexpr int tile = 16;
__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[tile][tile], right[tile][tile];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * tile + y, column = static_cast<int>(blockIdx.x) * tile + x;
  float sum = 0;
  for (int k = 0; k < n; k += tile) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
void TiledMatmul256(benchmark::State& state) {
  constexpr int n = 256;
  float *a, *b, *c;
  cudaMalloc(&a, n * n * 4);
  cudaMalloc(&b, n * n * 4);
  cudaMalloc(&c, n * n * 4);
  cudaMemset(a, 0, n * n * 4);
  cudaMemset(b, 0, n * n * 4);
  for (auto _ : state) STITCH_KERNEL(matmul).on(dim3(n / tile, n / tile), dim3(tile, tile))(a, b, c, n);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
}
BENCHMARK(TiledMatmul256)->Unit(benchmark::kMillisecond)->UseRealTime()->MinTime(1);

void CublasSgemm(benchmark::State& state) {
  const auto n = static_cast<int>(state.range(0));
  const auto bytes = static_cast<size_t>(n) * static_cast<size_t>(n) * sizeof(float);
  float *a, *b, *c;
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMalloc(&c, bytes);
  cudaMemset(a, 0, bytes);
  cudaMemset(b, 0, bytes);
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1, zero = 0;
  for (auto _ : state) cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a, n, b, n, &zero, c, n);
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * n * n * n * static_cast<double>(state.iterations()),
                                                 benchmark::Counter::kIsRate);
  cublasDestroy(handle);
  for (float* each : {a, b, c}) cudaFree(each);
}
BENCHMARK(CublasSgemm)->Arg(128)->Arg(512)->Arg(1024)->Unit(benchmark::kMillisecond)->UseRealTime();

// A 3x3 convolution of 64 to 64 channels, 56 x 56: 231 MFLOP.
void CudnnConvolution(benchmark::State& state) {
  constexpr int channels = 64, size = 56;
  float *x, *w, *y;
  cudaMalloc(&x, channels * size * size * sizeof(float));
  cudaMalloc(&w, channels * channels * 9 * sizeof(float));
  cudaMalloc(&y, channels * size * size * sizeof(float));
  cudaMemset(x, 0, channels * size * size * sizeof(float));
  cudaMemset(w, 0, channels * channels * 9 * sizeof(float));
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t image;
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t convolution;
  cudnnCreate(&handle);
  cudnnCreateTensorDescriptor(&image);
  cudnnCreateFilterDescriptor(&filter);
  cudnnCreateConvolutionDescriptor(&convolution);
  cudnnSetTensor4dDescriptor(image, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, channels, size, size);
  cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, channels, channels, 3, 3);
  cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  const float one = 1, zero = 0;
  for (auto _ : state)
    cudnnConvolutionForward(handle, &one, image, x, filter, w, convolution,
                            CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero, image, y);
  state.counters["GFLOP/s"] = benchmark::Counter(
      2e-9 * channels * channels * 9 * size * size * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
  cudnnDestroyConvolutionDescriptor(convolution);
  cudnnDestroyFilterDescriptor(filter);
  cudnnDestroyTensorDescriptor(image);
  cudnnDestroy(handle);
  for (float* each : {x, w, y}) cudaFree(each);
}
BENCHMARK(CudnnConvolution)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
