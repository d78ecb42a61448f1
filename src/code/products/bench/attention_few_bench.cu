// attention.few at the sizes of decoding and of a few learned queries, beside attention.half and
// attention.tensor_core (measure.h has the command). Microseconds, TB/s of k and v, relative L2 error. First
// an empty kernel, for the cost of a launch and its events.
#include "attention.h"
#include "stitch/kernels/attention_few.h"
#include "stitch/kernels/attention_half.h"
#include "stitch/kernels/attention_tensor_core.h"

// q (batch, heads, queries, width), k and v (batch, heads / share, keys, width), consecutive.
template <class Type, int batches, int heads_each, int share, int query_count, int key_count, int head_width>
struct Shape {
  using Query = Type;
  using Key = Type;
  using Value = Type;
  using Mask = Type;
  using Out = Type;
  using Index = int;
  static constexpr Index heads = batches * heads_each, queries = query_count, keys = key_count;
  static constexpr int width = head_width, value_width = head_width, group = share;
  static constexpr float scale = 0.125f, soft_cap = 0.0f;
  static constexpr bool causal = false;
  static constexpr auto weights = stitch::Weights::safe_softmax;
  static constexpr auto masking = stitch::Masking::none;
  static constexpr Index k_joint = keys, v_joint = keys;
  __host__ __device__ static Index q(Index head, Index query, Index i) {
    return (head * queries + query) * width + i;
  }
  __host__ __device__ static Index k(Index head, Index key, Index i) {
    return (head / share * keys + key) * width + i;
  }
  __host__ __device__ static Index v(Index head, Index key, Index i) { return k(head, key, i); }
  __device__ static Index k_tail(Index, Index, Index) { return 0; }
  __device__ static Index v_tail(Index, Index, Index) { return 0; }
  __device__ static Index mask(Index, Index, Index) { return 0; }
  __host__ __device__ static Index out(Index head, Index query, Index i) { return q(head, query, i); }
  __device__ static Index position(Index head, Index query, Index i) { return q(head, query, i); }
};

constexpr int64_t divided_up(int64_t count, int64_t by) { return (count + by - 1) / by; }

// As code/products/attention/attention.cpp has it.
constexpr int64_t even_splits(int64_t tiles, int64_t resident, int64_t rounds) {
  auto cost = [&](int64_t splits) {
    return divided_up(tiles * splits, resident) * (divided_up(rounds, splits) + 2) +
           (splits > 1 ? divided_up(splits, 16) : 0);
  };
  int64_t best = 1;
  for (int64_t splits = 2; splits <= rounds && tiles * (splits - 1) < 4 * resident; ++splits) {
    const bool better =
        cost(splits) < cost(best) || (cost(splits) == cost(best) && 4 * tiles * splits <= resident);
    if (better && 10 * cost(splits) < 9 * cost(1)) best = splits;
  }
  return best;
}
constexpr int64_t sms = 132, shared_per_sm = 228 * 1024;

// As code/products/attention/attention_few.cpp chooses them; `stage_limit` 1: without copies ahead; `waves`:
// so many times as many blocks.
template <class Of, int warp_count, int stage_limit = 8, int row_limit = 8, int waves = 1>
struct Few : Of {
  static constexpr bool is_float = sizeof(typename Of::Key) == 4, runs = true;
  static constexpr int run = is_float || stage_limit == 1 ? 4 : 8, warps = warp_count;
  static constexpr int64_t run_count = divided_up(Of::width, run);
  static constexpr int lanes = run_count >= 32 ? 32
                               : run_count > 8 ? 16
                                               : 8,
                       chunks = static_cast<int>(divided_up(run_count, lanes)), numbers = chunks * run;
  static constexpr int all_rows = Of::group * Of::queries,
                       by_registers = numbers <= 4   ? 8
                                      : numbers <= 8 ? 4
                                                     : 2,
                       most_rows = by_registers < row_limit ? by_registers : row_limit;
  static constexpr int rows = all_rows >= most_rows ? most_rows : all_rows > 2 ? 4 : all_rows;
  static constexpr int ahead = stage_limit == 1 && numbers <= 4 && rows <= 2 ? 8
                               : numbers <= 4 || (numbers <= 8 && rows <= 2) ? 4
                                                                             : 2;
  static constexpr int64_t tiles = Of::heads / Of::group * divided_up(all_rows, rows),
                           rounds = divided_up(Of::keys, warps*(32 / lanes) * ahead);
  static constexpr int64_t round_bytes = ahead * 2 * chunks * 512, of_warp = 16 * 1024 / round_bytes;
  static constexpr int deep = static_cast<int>(of_warp < 3   ? 3
                                               : of_warp > 8 ? 8
                                                             : of_warp),
                       stages = deep < stage_limit ? deep : stage_limit;
  static constexpr int64_t shared = (stages > 1 ? warps * stages * round_bytes : 0) +
                                    4 * warps * rows * lanes * numbers,
                           by_shared = shared_per_sm / (shared + 2048), by_warps = 16 / warps,
                           resident = by_shared < by_warps ? by_shared : by_warps;
  static constexpr int64_t wanted = waves * even_splits(tiles, resident*sms, rounds),
                           limited = wanted > 256 ? 256 : wanted;
  static constexpr int splits = static_cast<int>(divided_up(Of::keys, divided_up(Of::keys, limited)));
};
// `wanted_splits` 0: as code/products/attention/attention_half.cpp chooses them.
template <class Of, int keys_of_tile, int stage_count, int wanted_splits = 0>
struct Half : Of {
  static constexpr int warps = 1, row_tiles = 1, key_tile = keys_of_tile, stages = stage_count, mask_run = 1;
  static constexpr typename Of::Index k_step = Of::width, v_step = Of::width;
  static constexpr bool runs = true, out_pairs = true, mask_queries = false;
  static constexpr int64_t key_tiles = divided_up(Of::keys, key_tile), blocks = Of::heads / Of::group;
  static constexpr stitch::shared_memory::HalfTiles sizes{.width = Of::width,
                                                          .value_width = Of::width,
                                                          .row_tiles = 1,
                                                          .rows = 16,
                                                          .key_tile = key_tile,
                                                          .tiles = key_tiles,
                                                          .mask_rows = 0,
                                                          .most_stages = stages};
  static constexpr int64_t by_shared = shared_per_sm / (sizes.bytes() + 1024),
                           resident = by_shared < sizes.resident() ? by_shared : sizes.resident();
  static constexpr int64_t wanted =
      wanted_splits ? wanted_splits : even_splits(blocks, resident* sms, key_tiles);
  static constexpr int splits =
      static_cast<int>(divided_up(key_tiles, divided_up(key_tiles, wanted < key_tiles ? wanted : key_tiles)));
};
template <class Of>
struct TensorCore : Of {
  static constexpr int warps = Of::queries > 48 ? 4 : (Of::queries + 15) / 16, row_tiles = 1, key_tile = 64,
                       parts = 2;
  static constexpr bool quads = true, out_pairs = true, mask_runs = false;
};

__global__ void nothing() {}

template <class H>
struct Inputs {
  using T = typename H::Key;
  static constexpr int64_t q_count = int64_t{H::heads} * H::queries * H::width,
                           k_count = int64_t{H::heads} / H::group * H::keys * H::width;
  Buffer<T> q{q_count}, k{k_count}, v{k_count}, out{q_count};
  Buffer<float> partial{int64_t{256} * (q_count * 8 + 4096)};
  Buffer<unsigned> finished{1 << 16};

  Inputs() {
    draw_normal(q.data, q_count, 1);
    draw_normal(k.data, k_count, 2);
    draw_normal(v.data, k_count, 3);
    OK(stitch::clear_finished(finished.data, 1 << 16, nullptr));
  }

  double error() const {
    return error_of_rows<H>(on_host(q.data, q_count), on_host(k.data, k_count), on_host(v.data, k_count),
                            out.data, 4, [](int, int) { return 0.0; });
  }
};

template <class Of, class Call>
void time_one(const char* model, const char* how, const Inputs<Of>& in, int splits, Call call) {
  CUDA(cudaMemset(in.out.data, 0xFF, sizeof(typename Of::Out) * in.q_count));
  const double time = time_of(call);
  say("%-18s %-22s splits %-3d %8.2f us %6.2f TB/s  %.1e\n", model, how, splits, time * 1e3,
      2.0 * in.k_count * sizeof(typename Of::Key) / time / 1e9, in.error());
}
template <class H, class Of>
void few(const char* model, const char* how, const Inputs<Of>& in) {
  time_one(model, how, in, H::splits, [&] {
    OK(stitch::enqueue_attention_of_few<H>("few", in.q.data, in.k.data, in.v.data, nullptr, nullptr, nullptr,
                                           in.out.data, stitch::NoEpilogue{}, in.partial.data,
                                           in.finished.data, nullptr));
  });
}

template <class H, class Of>
void tensor_cores(const char* model, const char* how, const Inputs<Of>& in) {
  time_one(model, how, in, H::splits, [&] {
    OK(stitch::enqueue_half_attention<H>("half", in.q.data, in.k.data, in.v.data, nullptr, in.out.data,
                                         stitch::NoEpilogue{}, in.partial.data, nullptr));
  });
}

template <class Of>
void measure(const char* model) {
  const Inputs<Of> in;
  few<Few<Of, 4>>(model, "few", in);
  few<Few<Of, 4, 1>>(model, "few, no copies", in);
  few<Few<Of, 8>>(model, "few, 8 warps", in);
  few<Few<Of, 4, 8, 8, 2>>(model, "few, twice the blocks", in);
  if constexpr (Of::group * Of::queries > 4) few<Few<Of, 4, 8, 4>>(model, "few, 4 rows", in);
  if constexpr (std::is_same_v<typename Of::Key, float>) {
    if constexpr (Of::width <= 128 && Of::keys < 1024)
      time_one(model, "tensor_core", in, 1, [&] {
        OK(stitch::enqueue_tensor_core_attention<TensorCore<Of>>("tensor core", in.q.data, in.k.data,
                                                                 in.v.data, nullptr, in.out.data,
                                                                 stitch::NoEpilogue{}, nullptr));
      });
  } else {
    tensor_cores<Half<Of, 64, 2, 8>>(model, "half 64 x 2, 8 splits", in);
    tensor_cores<Half<Of, 64, 2>>(model, "half 64 x 2", in);
    tensor_cores<Half<Of, 32, 2>>(model, "half 32 x 2", in);
    tensor_cores<Half<Of, 32, 3>>(model, "half 32 x 3", in);
  }
}

int main() {
  say("an empty kernel: %.2f us\n", 1e3 * time_of([] { nothing<<<1, 32>>>(); }));
  measure<Shape<float, 1, 16, 4, 1, 1024, 64>>("step 1x16/4x1024");
  measure<Shape<float, 8, 16, 4, 1, 512, 64>>("step 8x16/4x512");
  measure<Shape<float, 1, 32, 1, 1, 4096, 128>>("mha 1x32x4096");
  measure<Shape<float, 8, 32, 4, 1, 4096, 128>>("gqa 8x32/8x4096");
  measure<Shape<float, 1, 8, 2, 1, 4096, 256>>("gemma 1x8/4x4096");
  measure<Shape<float, 2, 8, 1, 100, 850, 32>>("detr 2x8 100x850");
  measure<Shape<__nv_bfloat16, 1, 16, 4, 1, 1024, 64>>("bf16 1x16/4x1024");
  measure<Shape<__nv_bfloat16, 8, 16, 4, 1, 512, 64>>("bf16 8x16/4x512");
  measure<Shape<__nv_bfloat16, 8, 32, 1, 1, 2048, 128>>("bf16 8x32x2048");
  measure<Shape<__nv_bfloat16, 8, 32, 4, 1, 4096, 128>>("bf16 8x32/8x4096");
  measure<Shape<__nv_bfloat16, 8, 32, 8, 1, 2048, 128>>("bf16 8x32/4x2048");
}
