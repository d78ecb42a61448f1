// Times attention.half with several tiles at the sizes of models that people run in fp16 and bf16, and holds
// sampled rows against float64. From the repository's root:
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -I src/program/include
//     src/code/products/bench/attention_half_bench.cu -o attention_half_bench && ./attention_half_bench
// Microseconds of cold calls (median), TFLOP/s of what isn't masked, relative L2 error.
#include <cmath>
#include <type_traits>

#include "measure.h"
#include "stitch/kernels/attention_half.h"

// q, k and v of one linear: (batch, tokens, 3, heads, width); the result (batch, tokens, heads, width).
template <class Type, int batches, int heads_each, int tokens, int head_width, bool is_causal,
          stitch::Masking masks>
struct Shape {
  using Query = Type;
  using Key = Type;
  using Value = Type;
  using Mask = std::conditional_t<masks == stitch::Masking::adding, Type, bool>;
  using Out = Type;
  using Index = int;
  static constexpr Index heads = batches * heads_each, queries = tokens, keys = tokens;
  static constexpr int width = head_width, value_width = head_width;
  static constexpr float scale = 0.125f, soft_cap = 0.0f;
  static constexpr bool causal = is_causal;
  static constexpr auto weights = stitch::Weights::safe_softmax;
  static constexpr auto masking = masks;
  static constexpr Index row = 3 * heads_each * width, k_step = row, v_step = row;
  static constexpr int group = 1, splits = 1,
                       mask_run = masks == stitch::Masking::adding ? 2 - tokens % 2
                                  : tokens % 16 == 0               ? 16
                                                                   : 1;
  static constexpr bool runs = true, out_pairs = true, mask_queries = true;
  static constexpr Index k_joint = keys, v_joint = keys;
  __device__ static Index k_tail(Index, Index, Index) { return 0; }
  __device__ static Index v_tail(Index, Index, Index) { return 0; }
  __host__ __device__ static Index at(Index head, Index token, Index i, Index which) {
    return (head / heads_each * tokens + token) * row + (which * heads_each + head % heads_each) * width + i;
  }
  __device__ static Index q(Index head, Index query, Index i) { return at(head, query, i, 0); }
  __device__ static Index k(Index head, Index key, Index i) { return at(head, key, i, 1); }
  __device__ static Index v(Index head, Index key, Index i) { return at(head, key, i, 2); }
  __host__ __device__ static Index mask(Index, Index query, Index key) { return query * tokens + key; }
  __host__ __device__ static Index out(Index head, Index query, Index i) {
    return (head / heads_each * tokens + query) * (heads_each * width) + head % heads_each * width + i;
  }
  __device__ static Index position(Index head, Index query, Index i) { return out(head, query, i); }
};
template <class Of, int warp_count, int tiles_of_rows, int keys_each, int stage_count>
struct Tiled : Of {
  static constexpr int warps = warp_count, row_tiles = tiles_of_rows, key_tile = keys_each,
                       stages = stage_count;
};

template <class T>
__global__ void round_to(T* to, const float* from, int64_t count) {
  for (int64_t i = blockIdx.x * int64_t{256} + threadIdx.x; i < count; i += gridDim.x * int64_t{256})
    to[i] = static_cast<T>(from[i]);
}
// A window of 256 keys that ends at the query.
__global__ void fill_window(bool* to, int tokens) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < tokens * tokens; i += gridDim.x * 256)
    to[i] = i % tokens <= i / tokens && i / tokens - i % tokens < 256;
}

template <class H>
struct Inputs {
  static constexpr int64_t count = int64_t{H::heads} * H::queries * H::width * 3,
                           scores = int64_t{H::queries} * H::keys;
  Buffer<typename H::Key> qkv{count}, out{count / 3};
  Buffer<typename H::Mask> mask{scores};
  std::vector<typename H::Key> host_qkv = std::vector<typename H::Key>(count);
  std::vector<double> added = std::vector<double>(scores, 0.0);

  Inputs() {
    Buffer<float> drawn(std::max(count, scores));
    draw<<<1024, 256>>>(drawn.data, count, 1, true, 1.0f);
    round_to<<<1024, 256>>>(qkv.data, drawn.data, count);
    CUDA(cudaMemcpy(host_qkv.data(), qkv.data, count * sizeof(typename H::Key), cudaMemcpyDefault));
    if constexpr (H::masking == stitch::Masking::keeping) {
      fill_window<<<1024, 256>>>(mask.data, H::queries);
      std::vector<char> kept(scores);
      CUDA(cudaMemcpy(kept.data(), mask.data, scores, cudaMemcpyDefault));
      for (int64_t i = 0; i < scores; ++i) added[i] = kept[i] ? 0.0 : -INFINITY;
    } else if constexpr (H::masking == stitch::Masking::adding) {
      draw<<<1024, 256>>>(drawn.data, scores, 2, true, 1.0f);
      round_to<<<1024, 256>>>(mask.data, drawn.data, scores);
      std::vector<typename H::Mask> host(scores);
      CUDA(cudaMemcpy(host.data(), mask.data, scores * sizeof(typename H::Mask), cudaMemcpyDefault));
      for (int64_t i = 0; i < scores; ++i) added[i] = static_cast<float>(host[i]);
    }
  }

  double error() const {
    std::vector<typename H::Out> row(H::width);
    double wrong = 0, norm = 0;
    for (int sample = 0; sample < 24; ++sample) {
      const int head = sample * 7919 % H::heads, query = (sample * 104729 + 13) % H::queries;
      std::vector<double> weights(H::keys);
      double most = -INFINITY, total = 0;
      auto of = [&](int token, int i, int which) {
        return static_cast<double>(static_cast<float>(host_qkv[H::at(head, token, i, which)]));
      };
      for (int key = 0; key < H::keys; ++key) {
        double score = 0;
        for (int i = 0; i < H::width; ++i) score += of(query, i, 0) * of(key, i, 1);
        weights[key] = score * H::scale + added[H::mask(head, query, key)];
        if (H::causal && key > query) weights[key] = -INFINITY;
        most = std::max(most, weights[key]);
      }
      for (double& weight : weights) total += weight = std::exp(weight - most);
      CUDA(cudaMemcpy(row.data(), out.data + H::out(head, query, 0), H::width * sizeof(typename H::Out),
                      cudaMemcpyDefault));
      for (int i = 0; i < H::width; ++i) {
        double value = 0;
        for (int key = 0; key < H::keys; ++key) value += weights[key] / total * of(key, i, 2);
        const double difference = value - static_cast<float>(row[i]);
        wrong += difference * difference, norm += value * value;
      }
    }
    return std::sqrt(wrong / norm);
  }
  double kept() const {
    int64_t count = 0;
    for (int64_t i = 0; i < scores; ++i)
      count += std::isfinite(added[i]) && !(H::causal && i % H::keys > i / H::keys);
    return static_cast<double>(count) / scores;
  }
};

template <class Of, int warps, int row_tiles, int key_tile, int stages>
void measure(const char* model, const Inputs<Of>& in) {
  using H = Tiled<Of, warps, row_tiles, key_tile, stages>;
  CUDA(cudaMemset(in.out.data, 0xFF, sizeof(typename H::Out) * in.count / 3));
  const double time = time_of([&] {
    OK(stitch::enqueue_half_attention<H>("bench", in.qkv.data, in.qkv.data, in.qkv.data,
                                         H::masking == stitch::Masking::none ? nullptr : in.mask.data,
                                         in.out.data, stitch::NoEpilogue{}, nullptr, nullptr));
  });
  const double products = 4.0 * H::heads * H::queries * H::keys * H::width * in.kept();
  std::printf(
      "%-14s %4d x %4d x %3d  warps %d row tiles %d keys %-3d stages %d %8.1f us %6.1f TFLOP/s  %.1e\n",
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
