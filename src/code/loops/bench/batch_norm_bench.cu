// Batch norms of NHWC images in one kernel on this GPU: how many channels, threads and blocks of a cluster
// (kernels/loops_cluster.h) a part should have, at the sizes of mobile networks, ResNets and DenseNets.
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -I src/program/include -I
//   src/code/products/bench
//        src/code/loops/bench/batch_norm_bench.cu -o batch_norm_bench && ./batch_norm_bench
// Times are microseconds a kernel in a CUDA graph of 16 of them, one after the other, with weights that L2
// doesn't have, as in a network: medians of 9.
#include <cuda_fp16.h>

#include <cmath>

#include "measure.h"
#include "stitch/loops/cluster.h"
#include "stitch/loops/vector.h"

namespace stitch {
__device__ __forceinline__ float widened(float x) { return x; }
}  // namespace stitch

namespace {

// Blocks without a cluster: the way that programs had before.
template <int columns, int depth, int blocks, int turn>
__device__ __forceinline__ float sum_of_columns(float value) {
  if constexpr (blocks == 1)
    return reduce_columns<columns, depth>(value, Add());
  else
    return reduce_cluster<columns, depth, blocks, turn>(value, Add());
}

template <class Stored, int channels, int pixels, int columns, int threads, int blocks, bool early>
__global__ void __launch_bounds__(threads)
    norm(const Stored* __restrict__ x, const float* mean_before, const float* variance_before,
         const float* __restrict__ weight, const float* __restrict__ bias, float* mean_after,
         float* variance_after, Stored* __restrict__ y) {
  constexpr int depth = threads / columns, held = (pixels + depth * blocks - 1) / (depth * blocks);
  if constexpr (blocks > 1) arrive_at_cluster();
  const int part = blocks > 1 ? block_of_cluster() : 0;
  const int lane = static_cast<int>(threadIdx.x) / columns + part * depth;
  const int channel =
      static_cast<int>(blockIdx.x) / blocks * columns + static_cast<int>(threadIdx.x) % columns;
  float w, b, m, v;
  if constexpr (early)
    w = weight[channel], b = bias[channel], m = mean_before[channel], v = variance_before[channel];
  float values[held], sum = 0;
#pragma unroll
  for (int e = 0; e < held; ++e) {
    const int wanted = e * depth * blocks + lane;
    values[e] = widened(x[(wanted < pixels ? wanted : pixels - 1) * channels + channel]);
    sum += wanted < pixels ? values[e] : 0.0f;
  }
  const float mean = sum_of_columns<columns, depth, blocks, 0>(sum) / pixels;
  float squares = 0;
#pragma unroll
  for (int e = 0; e < held; ++e) {
    const float distance = e * depth * blocks + lane < pixels ? values[e] - mean : 0.0f;
    squares += distance * distance;
  }
  const float variance = sum_of_columns<columns, depth, blocks, 1>(squares) / pixels;
  if constexpr (!early) w = weight[channel], b = bias[channel];
  const float scale = w * rsqrtf(variance + 1e-5f);
#pragma unroll
  for (int e = 0; e < held; ++e) {
    const int wanted = e * depth * blocks + lane;
    const float result = fminf(fmaxf((values[e] - mean) * scale + b, 0.0f), 6.0f);
    if (wanted < pixels) y[wanted * channels + channel] = narrowed<Stored>(result);
  }
  if constexpr (!early) m = mean_before[channel], v = variance_before[channel];
  if (lane == 0) {
    mean_after[channel] = 0.9f * m + 0.1f * mean;
    variance_after[channel] = 0.9f * v + 0.1f * variance;
  }
}

constexpr int layers = 16;
constexpr int64_t most = int64_t{1} << 23;  // elements of an image
void* images[2];
float* weights;  // (layers, 6, 2048)

template <class Stored, int channels, int pixels, int columns, int threads, int blocks, bool early = true>
void measure() {
  constexpr int depth = threads / columns, held = (pixels + depth * blocks - 1) / (depth * blocks);
  if constexpr (held <= 64 && channels % columns == 0) {
    auto kernel = norm<Stored, channels, pixels, columns, threads, blocks, early>;
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    const Geometry geometry{dim3(channels / columns * blocks), dim3(threads)};
    for (int i = 0; i < layers; ++i) {
      float* w = weights + i * 6 * 2048;
      const auto* x = static_cast<const Stored*>(images[i % 2]);
      auto* y = static_cast<Stored*>(images[(i + 1) % 2]);
      if (blocks > 1)
        OK(launch_cluster("norm", kernel, geometry, blocks, stream, x, w, w + 2048, w + 4096, w + 6144,
                          w + 8192, w + 10240, y));
      else
        OK(launch("norm", kernel, geometry, stream, x, w, w + 2048, w + 4096, w + 6144, w + 8192, w + 10240,
                  y));
    }
    cudaGraph_t graph;
    cudaGraphExec_t runnable;
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&runnable, graph, 0));
    const double time = time_of([&] { CUDA(cudaGraphLaunch(runnable, nullptr)); });
    std::printf(
        "%zu-byte %5d x %5d: %2d channels, %4d threads, %2d blocks a cluster, %4d blocks, %2d held%s: %6.2f "
        "us\n",
        sizeof(Stored), channels, pixels, columns, threads, blocks, channels / columns * blocks, held,
        early ? "" : ", weights late", time * 1e3 / layers);
    CUDA(cudaGraphExecDestroy(runnable));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
  }
}

template <class Stored, int channels, int pixels>
void all() {
  measure<Stored, channels, pixels, 4, 512, 1, false>();  // as it was
  measure<Stored, channels, pixels, 4, 512, 1>();
  if constexpr (pixels < 10000) {
    measure<Stored, channels, pixels, 8, 256, 4>();
    measure<Stored, channels, pixels, 16, 256, 4>();
    measure<Stored, channels, pixels, 16, 256, 8>();
    measure<Stored, channels, pixels, 16, 512, 2>();
    measure<Stored, channels, pixels, 16, 512, 4>();
    measure<Stored, channels, pixels, 8, 512, 8>();
    measure<Stored, channels, pixels, 16, 512, 8>();
    measure<Stored, channels, pixels, 32, 512, 8>();
  }
  if constexpr (pixels >= 10000) {
    measure<Stored, channels, pixels, 4, 512, 8>();
    measure<Stored, channels, pixels, 8, 512, 8>();
    measure<Stored, channels, pixels, 8, 512, 4>();
  }
  measure<Stored, channels, pixels, 8, 1024, 8>();
  measure<Stored, channels, pixels, 16, 1024, 8>();
}

}  // namespace

int main() {
  for (void*& image : images) {
    CUDA(cudaMalloc(&image, most * 4));
    CUDA(cudaMemset(image, 0, most * 4));
  }
  CUDA(cudaMalloc(&weights, layers * 6 * 2048 * sizeof(float)));
  draw<<<256, 256>>>(weights, layers * 6 * 2048, 1, false, 1.0f);
  all<__half, 960, 490>();
  all<__half, 64, 1960>();
  all<__half, 384, 1960>();
  all<__half, 192, 7840>();
  all<__half, 144, 31360>();
  all<__half, 24, 31360>();
  all<__half, 256, 31360>();
  all<float, 144, 1960>();
  return 0;
}
