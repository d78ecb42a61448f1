// attention.tensor_core with several tiles at the sizes of KernelBench's tasks (measure.h has the command).
// Milliseconds, TFLOP/s counted once for each product of the model (three on the tensor cores), relative L2
// error.
#include "attention.h"
#include "stitch/kernels/attention_flash.h"
#include "stitch/kernels/attention_tensor_core.h"
#include "stitch/kernels/attention_wide_heads.h"

template <int batches, int heads_each, int tokens, int head_width, stitch::Weights how, stitch::Masking masks,
          int warp_count, int tiles_of_rows, int keys_each, int part_count = 2>
struct Packed : PackedHeads<float, batches, heads_each, tokens, head_width> {
  using Mask = bool;
  static constexpr bool causal = false;
  static constexpr auto weights = how;
  static constexpr auto masking = masks;
  static constexpr int warps = warp_count, row_tiles = tiles_of_rows, key_tile = keys_each,
                       parts = part_count;
  static constexpr bool quads = head_width % 4 == 0, out_pairs = true, mask_runs = tokens % 16 == 0;
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
  __host__ __device__ static Index q(Index head, Index query, Index i) {
    return (head * tokens + query) * width + i;
  }
  __host__ __device__ static Index k(Index head, Index key, Index i) { return all + q(head, key, i); }
  __host__ __device__ static Index v(Index head, Index key, Index i) { return 2 * all + q(head, key, i); }
  __device__ static Index mask(Index, Index, Index) { return 0; }
  __host__ __device__ static Index out(Index head, Index query, Index i) { return q(head, query, i); }
  __device__ static Index position(Index head, Index query, Index i) { return q(head, query, i); }
};

static float *qkv, *result;
static bool* mask;
static std::vector<float> host_qkv;
constexpr int64_t most_elements = int64_t{256} * 512 * 1024 * 3, mask_elements = 1024 * 1024;

__global__ void fill_causal(bool* to, int tokens) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < tokens * tokens; i += gridDim.x * 256)
    to[i] = i % tokens <= i / tokens;
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
  const double error = error_of_rows<H>(host_qkv, host_qkv, host_qkv, result, 12, [](int query, int key) {
    return H::masking == stitch::Masking::keeping && key > query ? -INFINITY : 0.0;
  });
  say("%-22s %5d x %5d x %4d  %-11s w%d r%d k%-2d p%d  %8.3f ms  %6.1f TFLOP/s  %.1e\n", task, H::heads,
      H::queries, H::width,
      kernel == Kernel::flash        ? "flash"
      : kernel == Kernel::wide_heads ? "wide_heads"
                                     : "tensor_core",
      H::warps, H::row_tiles, H::key_tile, H::parts, time, flops / time / 1e9, error);
}

int main() {
  using stitch::Masking;
  using stitch::Weights;
  CUDA(cudaMalloc(&qkv, sizeof(float) * most_elements));
  CUDA(cudaMalloc(&result, sizeof(float) * most_elements / 3));
  CUDA(cudaMalloc(&mask, mask_elements));
  draw<<<4096, 256>>>(qkv, most_elements, 1, true, 1.0f);
  host_qkv = on_host(qkv, most_elements);

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
}
