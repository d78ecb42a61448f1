#include "rubric/features.h"

#include <array>
#include <unordered_map>

namespace stitch::rubric {

namespace {

struct FeatureRow {
  std::string_view name, words;
};
constexpr std::array<FeatureRow, feature_count> feature_rows = {{
    {"shared_memory", "shared memory"},
    {"tiling", "tiles in shared memory"},
    {"register_tiling", "several results per thread"},
    {"vector_access", "vector loads"},
    {"read_only_cache", "read-only loads"},
    {"tensor_cores", "tensor cores"},
    {"async_copy", "asynchronous copies"},
    {"double_buffering", "double buffering"},
    {"warp_shuffle", "warp shuffles"},
    {"block_reduction", "block reductions"},
    {"unrolling", "unrolled loops"},
    {"grid_stride", "grid-stride loops"},
    {"launch_bounds", "launch bounds"},
    {"fast_math", "fast intrinsics"},
    {"half_precision", "16-bit arithmetic"},
    {"atomics", "atomics"},
    {"online", "one pass over the data"},
    {"fused_epilogue", "a library's fused epilogue"},
    {"cuda_graph", "a CUDA graph"},
    {"streams", "several streams"},
}};

using WordTable = std::unordered_map<std::string_view, Feature>;

const WordTable& feature_words() {
  static const WordTable table = [] {
    WordTable out;
    auto add = [&](Feature feature, std::initializer_list<std::string_view> words) {
      for (std::string_view word : words) out[word] = feature;
    };
    add(Feature::shared_memory, {"__shared__"});
    add(Feature::vector_access, {"float4", "float2", "int4", "int2", "uint4", "uint2", "double2", "half2",
                                 "__half2", "__nv_bfloat162", "char4", "uchar4", "short4", "longlong2",
                                 "ulonglong2", "Pack", "AlignedVector", "aligned_vector", "make_float4"});
    add(Feature::read_only_cache, {"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__restrict__"});
    add(Feature::tensor_cores,
        {"wmma", "mma_sync", "load_matrix_sync", "store_matrix_sync", "ldmatrix", "TiledMMA", "mma_tf32"});
    add(Feature::async_copy, {"memcpy_async", "__pipeline_memcpy_async", "CUtensorMap"});
    add(Feature::warp_shuffle, {"WarpReduce", "warp_reduce", "warpReduce", "warpReduceSum", "warpReduceMax",
                                "coalesced_threads", "tiled_partition"});
    add(Feature::block_reduction, {"BlockReduce", "block_reduce", "blockReduce", "blockReduceSum"});
    add(Feature::grid_stride, {"gridDim"});
    add(Feature::launch_bounds, {"__launch_bounds__"});
    add(Feature::fast_math,
        {"__expf", "__fdividef", "rsqrtf", "__frsqrt_rn", "__fmaf_rn", "fmaf", "__logf", "__log2f", "exp2f",
         "__powf", "__sinf", "__cosf", "__frcp_rn", "__tanhf", "rsqrt"});
    add(Feature::half_precision,
        {"half", "__half", "half2", "__half2", "__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "bfloat16"});
    add(Feature::online, {"welford", "Welford", "delta2"});
    add(Feature::cuda_graph, {"cudaGraphLaunch", "cudaStreamBeginCapture", "cudaGraphInstantiate",
                              "CUDAGraph", "GraphCache", "cudaGraphExecUpdate"});
    add(Feature::streams, {"cudaStreamCreateWithFlags", "cudaStreamCreate", "cudaStreamWaitEvent"});
    return out;
  }();
  return table;
}

struct Prefix {
  std::string_view text;
  Feature feature;
};
constexpr std::array word_prefixes = {
    Prefix{"__shfl_", Feature::warp_shuffle},
    Prefix{"__reduce_", Feature::warp_shuffle},
    Prefix{"atomic", Feature::atomics},
    Prefix{"cp_async", Feature::async_copy},
    Prefix{"tma_", Feature::async_copy},
    Prefix{"wgmma", Feature::tensor_cores},
    Prefix{"mma_m", Feature::tensor_cores},
    Prefix{"welford", Feature::online},
    Prefix{"CUBLASLT_EPILOGUE_", Feature::fused_epilogue},
};
// In strings of inline PTX.
constexpr std::array string_parts = {
    Prefix{"mma.sync", Feature::tensor_cores},  Prefix{"wgmma", Feature::tensor_cores},
    Prefix{"wmma.", Feature::tensor_cores},     Prefix{"tcgen05", Feature::tensor_cores},
    Prefix{"cp.async", Feature::async_copy},    Prefix{"ld.global.nc", Feature::read_only_cache},
    Prefix{".v4.", Feature::vector_access},     Prefix{".v2.", Feature::vector_access},
    Prefix{"ex2.approx", Feature::fast_math},   Prefix{"tanh.approx", Feature::fast_math},
    Prefix{"shfl.sync", Feature::warp_shuffle}, Prefix{"st.global.v4", Feature::vector_access},
};

}  // namespace

std::string_view name(Feature feature) { return feature_rows[static_cast<size_t>(feature)].name; }
std::string_view words(Feature feature) { return feature_rows[static_cast<size_t>(feature)].words; }

std::string_view name(Work work) {
  constexpr std::array<std::string_view, 5> names = {"constant", "move", "pointwise", "reduction", "product"};
  return names[static_cast<size_t>(work)];
}

BodyFacts& BodyFacts::operator|=(const BodyFacts& other) {
  features |= other.features;
  products |= other.products;
  reduces |= other.reduces;
  arithmetic += other.arithmetic;
  functions += other.functions;
  strided |= other.strided;
  doubles |= other.doubles;
  global_loads |= other.global_loads;
  return *this;
}

void add_features(const Token& token, Features& features) {
  if (token.kind == Token::pragma && token.text.find("unroll") != std::string_view::npos)
    features.add(Feature::unrolling);
  if (token.kind == Token::string)
    for (const Prefix& part : string_parts)
      if (token.text.find(part.text) != std::string_view::npos) features.add(part.feature);
  if (token.kind != Token::word) return;
  if (auto found = feature_words().find(token.text); found != feature_words().end())
    features.add(found->second);
  for (const Prefix& prefix : word_prefixes)
    if (token.text.starts_with(prefix.text) && token.text != "CUBLASLT_EPILOGUE_DEFAULT" &&
        token.text != "atomic")
      features.add(prefix.feature);
  if (token.text == "half2" || token.text == "__half2" || token.text == "__nv_bfloat162")
    features.add(Feature::half_precision);
}

}  // namespace stitch::rubric
