// attention.half with several tiles at the sizes of models that people run in fp16 and bf16 (measure.h has
// the command). Microseconds, TFLOP/s of what isn't masked, relative L2 error.
#include "attention.h"
#include "stitch/kernels/attention_half.h"

template <class Type, int batches, int heads_each, int tokens, int head_width, bool is_causal,
          stitch::Masking masks>
struct Shape : PackedHeads<Type, batches, heads_each, tokens, head_width> {
  using Mask = std::conditional_t<masks == stitch::Masking::adding, Type, bool>;
  static constexpr bool causal = is_causal;
  static constexpr auto weights = stitch::Weights::safe_softmax;
  static constexpr auto masking = masks;
  static constexpr int group = 1, splits = 1,
                       mask_run = masks == stitch::Masking::adding ? 2 - tokens % 2
                                  : tokens % 16 == 0               ? 16
                                                                   : 1;
  static constexpr bool runs = true, out_pairs = true, mask_queries = true;
};
template <class Of, int warp_count, int tiles_of_rows, int keys_each, int stage_count>
struct Tiled : Of {
  static constexpr int warps = warp_count, row_tiles = tiles_of_rows, key_tile = keys_each,
                       stages = stage_count;
};

// A window of 256 keys that ends at the query.
__global__ void fill_window(bool* to, int tokens) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < tokens * tokens; i += gridDim.x * 256)
    to[i] = i % tokens <= i / tokens && i / tokens - i % tokens < 256;
}

template <class H>
struct Inputs {
  static constexpr int64_t count = 3 * H::elements, scores = int64_t{H::queries} * H::keys;
  Buffer<typename H::Key> qkv{count}, out{H::elements};
  Buffer<typename H::Mask> mask{scores};
  std::vector<typename H::Key> host_qkv;
  std::vector<double> added = std::vector<double>(scores, 0.0);

  Inputs() {
    draw_normal(qkv.data, count, 1);
    host_qkv = on_host(qkv.data, count);
    if constexpr (H::masking == stitch::Masking::keeping) {
      fill_window<<<1024, 256>>>(mask.data, H::queries);
      const std::vector<char> kept = on_host(reinterpret_cast<const char*>(mask.data), scores);
      for (int64_t i = 0; i < scores; ++i) added[i] = kept[i] ? 0.0 : -INFINITY;
    } else if constexpr (H::masking == stitch::Masking::adding) {
      draw_normal(mask.data, scores, 2);
      const std::vector<typename H::Mask> host = on_host(mask.data, scores);
      for (int64_t i = 0; i < scores; ++i) added[i] = static_cast<float>(host[i]);
    }
    for (int64_t i = 0; i < scores; ++i)
      if (H::causal && i % H::keys > i / H::keys) added[i] = -INFINITY;
  }

  double error() const {
    return error_of_rows<H>(host_qkv, host_qkv, host_qkv, out.data, 24,
                            [&](int query, int key) { return added[H::mask(0, query, key)]; });
  }
  double kept() const {
    int64_t count = 0;
    for (double each : added) count += std::isfinite(each);
    return static_cast<double>(count) / scores;
  }
};

template <class Of, int warps, int row_tiles, int key_tile, int stages>
void measure(const char* model, const Inputs<Of>& in) {
  using H = Tiled<Of, warps, row_tiles, key_tile, stages>;
  CUDA(cudaMemset(in.out.data, 0xFF, sizeof(typename H::Out) * H::elements));
  const double time = time_of([&] {
    OK(stitch::enqueue_half_attention<H>("bench", in.qkv.data, in.qkv.data, in.qkv.data,
                                         H::masking == stitch::Masking::none ? nullptr : in.mask.data,
                                         in.out.data, stitch::NoEpilogue{}, nullptr, nullptr));
  });
  const double products = 4.0 * H::heads * H::queries * H::keys * H::width * in.kept();
  say("%-14s %4d x %4d x %3d  warps %d row tiles %d keys %-3d stages %d %8.1f us %6.1f TFLOP/s  %.1e\n",
      model, H::heads, H::queries, H::width, warps, row_tiles, key_tile, stages, time * 1e3,
      products / time / 1e9, in.error());
}

template <class Of>
void measure_tiles(const char* model) {
  const Inputs<Of> in;
  measure<Of, 4, 1, 64, 2>(model, in);
  measure<Of, 4, 1, 64, 3>(model, in);
  if constexpr (Of::width > 128) measure<Of, 4, 1, 32, 2>(model, in);
  if constexpr (Of::queries < 500) measure<Of, 7, 1, 64, 2>(model, in);
  if constexpr (Of::queries > 500 && Of::width <= 128) measure<Of, 4, 2, 64, 2>(model, in);
}

int main() {
  using enum stitch::Masking;
  using Half = __half;
  using Bfloat = __nv_bfloat16;
  measure_tiles<Shape<Half, 16, 12, 197, 64, false, none>>("ViT-B/16");
  measure_tiles<Shape<Half, 16, 12, 128, 64, false, none>>("BERT");
  measure_tiles<Shape<Bfloat, 4, 12, 512, 64, true, none>>("GPT-2");
  measure_tiles<Shape<Bfloat, 2, 12, 2048, 64, false, keeping>>("window");
  measure_tiles<Shape<Half, 4, 16, 1024, 8, false, none>>("U-Net");
  measure_tiles<Shape<Bfloat, 8, 8, 512, 64, false, adding>>("T5");
  measure_tiles<Shape<Bfloat, 1, 16, 4096, 128, true, none>>("Llama");
  measure_tiles<Shape<Bfloat, 1, 16, 2048, 256, true, none>>("Gemma");
}
