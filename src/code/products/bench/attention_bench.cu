// Times attention.tensor_core with several tiles at the sizes of KernelBench's tasks, and holds sampled rows
// against float64. From the repository's root:
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -I src/program/include
//     src/code/products/bench/attention_bench.cu -o attention_bench && ./attention_bench
// The table comes last: milliseconds (median of cold calls), TFLOP/s counted once for each product of the
// model (three on the tensor cores), relative L2 error.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "measure.h"
#include "stitch/kernels/attention_flash.h"
#include "stitch/kernels/attention_tensor_core.h"
#include "stitch/kernels/attention_wide_heads.h"
#include "stitch/runtime/errors.h"

// q, k and v of one linear: (batch, tokens, 3, heads, width); the result (batch, tokens, heads, width).
template <int batches, int heads_each, int tokens, int head_width, stitch::Weights how, stitch::Masking masks,
          int warp_count, int tiles_of_rows, int keys_each, int part_count = 2>
struct Packed {
  using Query = float;
  using Key = float;
  using Value = float;
  using Mask = bool;
  using Out = float;
  using Index = int;
  static constexpr Index heads = batches * heads_each, queries = tokens, keys = tokens;
  static constexpr int width = head_width, value_width = head_width;
  static constexpr float scale = 0.125f, soft_cap = 0.0f;
  static constexpr bool causal = false;
  static constexpr auto weights = how;
  static constexpr auto masking = masks;
  static constexpr int warps = warp_count, row_tiles = tiles_of_rows, key_tile = keys_each,
                       parts = part_count;
  static constexpr bool quads = width % 4 == 0, out_pairs = true, mask_runs = tokens % 16 == 0;
  static constexpr Index row = 3 * heads_each * width;
  __device__ static Index at(Index head, Index token, Index i, Index which) {
    return (head / heads_each * tokens + token) * row + (which * heads_each + head % heads_each) * width + i;
  }
  __device__ static Index q(Index head, Index query, Index i) { return at(head, query, i, 0); }
  __device__ static Index k(Index head, Index key, Index i) { return at(head, key, i, 1); }
  __device__ static Index v(Index head, Index key, Index i) { return at(head, key, i, 2); }
  __device__ static Index mask(Index, Index query, Index key) { return query * tokens + key; }
  __device__ static Index out(Index head, Index query, Index i) {
    return (head / heads_each * tokens + query) * (heads_each * width) + head % heads_each * width + i;
  }
  __device__ static Index position(Index head, Index query, Index i) {
    return (head * tokens + query) * width + i;
  }
  static int64_t host_at(int64_t head, int64_t token, int64_t i, int64_t which) {
    return (head / heads_each * tokens + token) * row + (which * heads_each + head % heads_each) * width + i;
  }
  static int64_t host_out(int64_t head, int64_t query, int64_t i) {
    return (head / heads_each * tokens + query) * (heads_each * width) + head % heads_each * width + i;
  }
};

// 97_ScaledDotProductAttention, some of its heads: q, k and v consecutive, each (heads, tokens, width).
template <int head_count, int tokens, int head_width, int part_count = 2>
struct Wide {
  using Query = float;
  using Key = float;
  using Value = float;
  using Mask = bool;
  using Out = float;
  using Index = int;
  static constexpr Index heads = head_count, queries = tokens, keys = tokens;
  static constexpr int width = head_width, value_width = head_width;
  static constexpr float scale = 0.03125f, soft_cap = 0.0f;
  static constexpr bool causal = false;
  static constexpr auto weights = stitch::Weights::safe_softmax;
  static constexpr auto masking = stitch::Masking::none;
  static constexpr int warps = 8, row_tiles = 4, key_tile = 16, parts = part_count;
  static constexpr bool quads = true, out_pairs = true;
  static constexpr Index all = heads * tokens * width;
  __device__ static Index q(Index head, Index query, Index i) { return (head * tokens + query) * width + i; }
  __device__ static Index k(Index head, Index key, Index i) { return all + q(head, key, i); }
  __device__ static Index v(Index head, Index key, Index i) { return 2 * all + q(head, key, i); }
  __device__ static Index mask(Index, Index, Index) { return 0; }
  __device__ static Index out(Index head, Index query, Index i) { return q(head, query, i); }
  __device__ static Index position(Index head, Index query, Index i) { return q(head, query, i); }
  static int64_t host_at(int64_t head, int64_t token, int64_t i, int64_t which) {
    return which * all + (head * tokens + token) * width + i;
  }
  static int64_t host_out(int64_t head, int64_t query, int64_t i) { return host_at(head, query, i, 0); }
};

static std::vector<std::string> table;
static float *qkv, *result;
static bool* mask;
static std::vector<float> host_qkv;
constexpr int64_t most_elements = int64_t{256} * 512 * 1024 * 3, mask_elements = 1024 * 1024;

__global__ void fill(float* to, int64_t count) {
  for (int64_t i = blockIdx.x * int64_t{256} + threadIdx.x; i < count; i += gridDim.x * int64_t{256}) {
    uint64_t x = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15ull;
    x = (x ^ x >> 31) * 0xBF58476D1CE4E5B9ull;
    x ^= x >> 29;
    float sum = -6.0f;  // nearly normal
    for (int part = 0; part < 12; ++part) sum += static_cast<float>((x * (2 * part + 1)) >> 40) * 0x1p-24f;
    to[i] = sum;
  }
}
__global__ void fill_causal(bool* to, int tokens) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < tokens * tokens; i += gridDim.x * 256)
    to[i] = i % tokens <= i / tokens;
}

template <class H>
double error_of_rows() {
  std::vector<float> row(H::value_width);
  double wrong = 0, norm = 0;
  for (int sample = 0; sample < 12; ++sample) {
    int64_t head = (sample * 7919) % H::heads, query = (sample * 104729 + 13) % H::queries;
    std::vector<double> scores(H::keys);
    double most = -INFINITY, total = 0;
    for (int64_t key = 0; key < H::keys; ++key) {
      double score = 0;
      for (int i = 0; i < H::width; ++i)
        score += double(host_qkv[H::host_at(head, query, i, 0)]) * host_qkv[H::host_at(head, key, i, 1)];
      scores[key] = score * H::scale;
      if (H::masking == stitch::Masking::keeping && key > query) scores[key] = -INFINITY;
      most = std::max(most, scores[key]);
    }
    for (double& score : scores) {
      score = H::weights == stitch::Weights::relu ? std::max(score, 0.0) : std::exp(score - most);
      total += score;
    }
    if (H::weights == stitch::Weights::relu) total = 1;
    CUDA(cudaMemcpy(row.data(), result + H::host_out(head, query, 0), sizeof(float) * H::value_width,
                    cudaMemcpyDeviceToHost));
    for (int i = 0; i < H::value_width; ++i) {
      double value = 0;
      for (int64_t key = 0; key < H::keys; ++key)
        value += scores[key] * host_qkv[H::host_at(head, key, i, 2)];
      wrong += (value / total - row[i]) * (value / total - row[i]);
      norm += value / total * (value / total);
    }
  }
  return std::sqrt(wrong / norm);
}

enum class Kernel { tensor_core, flash, wide_heads };

template <class H, Kernel kernel = Kernel::tensor_core>
void measure(const char* task) {
  if constexpr (H::masking == stitch::Masking::keeping) {
    static_assert(int64_t{H::queries} * H::keys <= mask_elements, "a mask that fits");
    fill_causal<<<1024, 256>>>(mask, H::queries);
  }
  CUDA(cudaMemset(result, 0xFF, sizeof(float) * int64_t{H::heads} * H::queries * H::value_width));
  auto run = [] {
    StitchStatus status;
    if constexpr (kernel == Kernel::wide_heads)
      status = stitch::enqueue_wide_heads_attention<H>("wide_heads", qkv, qkv, qkv, mask, result,
                                                       stitch::NoEpilogue{}, nullptr);
    else if constexpr (kernel == Kernel::flash)
      status = stitch::enqueue_flash<H>("flash", qkv, qkv, qkv, mask, result, stitch::NoEpilogue{}, nullptr);
    else
      status = stitch::enqueue_tensor_core_attention<H>("tensor_core", qkv, qkv, qkv, mask, result,
                                                        stitch::NoEpilogue{}, nullptr);
    if (status != STITCH_OK) std::printf("failed: %s\n", stitch::last_error_text);
  };
  const double time = time_of(run);
  double flops = 4.0 * H::heads * H::queries * H::keys * H::width;
  char line[200];
  std::snprintf(line, sizeof line,
                "%-22s %5d x %5d x %4d  %-11s w%d r%d k%-2d p%d  %8.3f ms  %6.1f TFLOP/s  %.1e", task,
                H::heads, H::queries, H::width,
                kernel == Kernel::flash        ? "flash"
                : kernel == Kernel::wide_heads ? "wide_heads"
                                               : "tensor_core",
                H::warps, H::row_tiles, H::key_tile, H::parts, time, flops / time / 1e9, error_of_rows<H>());
  std::puts(line);
  std::fflush(stdout);
  table.push_back(line);
}

int main() {
  using stitch::Masking;
  using stitch::Weights;
  CUDA(cudaMalloc(&qkv, sizeof(float) * most_elements));
  CUDA(cudaMalloc(&result, sizeof(float) * most_elements / 3));
  CUDA(cudaMalloc(&mask, mask_elements));
  fill<<<4096, 256>>>(qkv, most_elements);
  host_qkv.resize(most_elements);
  CUDA(cudaMemcpy(host_qkv.data(), qkv, sizeof(float) * most_elements, cudaMemcpyDeviceToHost));

  constexpr auto soft = Weights::softmax, relu = Weights::relu;
  constexpr auto none = Masking::none, keep = Masking::keeping;
  std::puts("43_MinGPTCausalAttention, 44_MiniGPTBlock");
  measure<Packed<128, 8, 512, 96, soft, keep, 4, 2, 32>>("43 masked");
  measure<Packed<128, 8, 512, 96, soft, keep, 4, 2, 64>>("43 masked");
  measure<Packed<128, 8, 512, 96, soft, keep, 4, 1, 64>>("43 masked");
  measure<Packed<128, 8, 512, 96, soft, keep, 8, 1, 64>>("43 masked");
  measure<Packed<128, 8, 512, 96, soft, none, 4, 2, 32>>("43 without mask");
  measure<Packed<128, 8, 512, 96, soft, none, 4, 2, 32>, Kernel::flash>("43 without mask");
  measure<Packed<128, 8, 512, 96, soft, keep, 4, 2, 32, 1>>("43 one product");
  std::puts("31_VisionAttention");
  measure<Packed<2, 4, 16384, 32, soft, none, 4, 2, 64>>("31");
  measure<Packed<2, 4, 16384, 32, soft, none, 4, 2, 32>>("31");
  measure<Packed<2, 4, 16384, 32, soft, none, 4, 1, 64>>("31");
  measure<Packed<2, 4, 16384, 32, soft, none, 8, 1, 64>>("31");
  measure<Packed<2, 4, 16384, 32, soft, none, 8, 2, 64>>("31");
  std::puts("50_ReLUSelfAttention");
  measure<Packed<16, 12, 1024, 64, relu, keep, 4, 2, 64>>("50");
  measure<Packed<16, 12, 1024, 64, relu, keep, 4, 2, 32>>("50");
  measure<Packed<16, 12, 1024, 64, relu, keep, 4, 1, 64>>("50");
  measure<Packed<16, 12, 1024, 64, soft, none, 4, 2, 64>>("50 softmax, no mask");
  std::puts("30_SwinTransformerV2");
  measure<Packed<640, 3, 49, 32, soft, none, 4, 1, 64>>("30 first stage");
  measure<Packed<640, 3, 49, 32, soft, none, 2, 2, 64>>("30 first stage");
  measure<Packed<40, 12, 49, 32, soft, none, 4, 1, 64>>("30 third stage");
  std::puts("28_VisionTransformer");
  measure<Packed<197, 8, 2, 64, soft, none, 1, 1, 16>>("28");
  measure<Packed<2, 8, 197, 64, soft, none, 4, 1, 64>>("28, batch first");
  std::puts("heads of 128");
  measure<Packed<8, 16, 1024, 128, soft, none, 4, 2, 32>>("128");
  measure<Packed<8, 16, 1024, 128, soft, none, 4, 1, 64>>("128");
  std::puts("97_ScaledDotProductAttention, a quarter of its heads");
  measure<Wide<256, 512, 1024>, Kernel::wide_heads>("97 / 4");
  measure<Wide<256, 512, 1024, 1>, Kernel::wide_heads>("97 / 4, one product");
  measure<Wide<256, 256, 256>, Kernel::wide_heads>("256 features");
  std::puts(
      "\ntask                   heads x tokens x width  kernel       tiles         time          rate        "
      " error");
  for (const std::string& line : table) std::puts(line.c_str());
}
