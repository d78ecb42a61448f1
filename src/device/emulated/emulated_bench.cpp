// What the emulated GPU costs: a barrier crossing, a shuffle, and the tiled matmul of 256^3 (goal: under 60
// ms on two cores; 2.1 million barrier crossings).
#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

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

}  // namespace
