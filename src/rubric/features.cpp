#include "rubric/features.h"

#include <algorithm>
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

namespace {

constexpr std::array torch_rows = {
    TorchRow{"linear Linear LazyLinear Bilinear", "linear matmul", true},
    TorchRow{"matmul mm bmm addmm baddbmm addbmm mv addmv dot einsum tensordot inner outer ger chain_matmul "
             "multi_dot vdot kron @",
             "matmul linear einsum", true},
    TorchRow{"conv1d conv2d conv3d Conv1d Conv2d Conv3d convolution LazyConv2d", "conv", true},
    TorchRow{"conv_transpose1d conv_transpose2d conv_transpose3d ConvTranspose1d ConvTranspose2d "
             "ConvTranspose3d",
             "conv_transpose", true},
    TorchRow{"scaled_dot_product_attention flash_attn_func", "attention matmul softmax", true, true},
    TorchRow{"MultiheadAttention multi_head_attention_forward", "attention linear matmul softmax", true,
             true},
    TorchRow{"TransformerEncoderLayer TransformerEncoder TransformerDecoderLayer Transformer",
             "attention linear matmul softmax layer_norm add relu gelu", true, true},
    TorchRow{"LSTM GRU RNN LSTMCell GRUCell RNNCell", "rnn linear matmul sigmoid tanh", true, true},
    TorchRow{"softmax Softmax Softmax2d", "softmax"},
    TorchRow{"log_softmax LogSoftmax", "log_softmax"},
    TorchRow{"layer_norm LayerNorm native_layer_norm", "layer_norm"},
    TorchRow{"group_norm GroupNorm", "group_norm"},
    TorchRow{"batch_norm BatchNorm1d BatchNorm2d BatchNorm3d", "batch_norm"},
    TorchRow{"instance_norm InstanceNorm1d InstanceNorm2d InstanceNorm3d", "group_norm batch_norm var"},
    TorchRow{"rms_norm RMSNorm", "rms_norm"},
    TorchRow{"normalize", "norm clamp div", false, true},
    TorchRow{"max_pool1d max_pool2d max_pool3d MaxPool1d MaxPool2d MaxPool3d", "max_pool"},
    TorchRow{"avg_pool1d avg_pool2d avg_pool3d AvgPool1d AvgPool2d AvgPool3d", "avg_pool"},
    TorchRow{"adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d AdaptiveAvgPool1d "
             "AdaptiveAvgPool2d AdaptiveAvgPool3d",
             "adaptive_avg_pool mean"},
    TorchRow{"adaptive_max_pool1d adaptive_max_pool2d AdaptiveMaxPool1d AdaptiveMaxPool2d",
             "adaptive_max_pool amax"},
    TorchRow{"interpolate Upsample upsample", "resize"},
    TorchRow{"relu ReLU relu_ threshold", "relu"},
    TorchRow{"relu6 ReLU6 hardtanh Hardtanh clamp clamp_ clip clamp_min clamp_max", "clamp"},
    TorchRow{"gelu GELU", "gelu"},
    TorchRow{"silu SiLU swish", "silu"},
    TorchRow{"mish Mish", "mish"},
    TorchRow{"elu ELU selu SELU celu CELU", "elu"},
    TorchRow{"leaky_relu LeakyReLU prelu PReLU", "leaky_relu where"},
    TorchRow{"hardswish Hardswish", "hardswish"},
    TorchRow{"hardsigmoid Hardsigmoid", "hardsigmoid"},
    TorchRow{"softplus Softplus logsigmoid LogSigmoid", "softplus"},
    TorchRow{"sigmoid Sigmoid sigmoid_", "sigmoid"},
    TorchRow{"tanh Tanh tanh_ Tanhshrink", "tanh"},
    TorchRow{"exp exp_", "exp"},
    TorchRow{"log log1p", "log log1p"},
    TorchRow{"sqrt rsqrt", "sqrt rsqrt"},
    TorchRow{"erf", "erf"},
    TorchRow{"abs sign", "abs sign"},
    TorchRow{"pow square", "pow mul"},
    TorchRow{"sin cos", "sin cos"},
    TorchRow{"sum nansum", "sum"},
    TorchRow{"mean", "mean"},
    TorchRow{"prod", "prod"},
    TorchRow{"amax max", "amax argmax maximum"},
    TorchRow{"amin min", "amin argmin minimum"},
    TorchRow{"argmax", "argmax"},
    TorchRow{"argmin", "argmin"},
    TorchRow{"var std var_mean std_mean", "var"},
    TorchRow{"norm", "norm"},
    TorchRow{"logsumexp", "logsumexp"},
    TorchRow{"cumsum cumprod cummax cummin logcumsumexp", "cumsum cumprod cummax cummin logcumsumexp"},
    TorchRow{"add add_", "add"},
    TorchRow{"sub sub_ subtract", "sub"},
    TorchRow{"mul mul_ multiply", "mul"},
    TorchRow{"div div_ divide true_divide", "div"},
    TorchRow{"addcmul addcdiv lerp", "add mul"},
    TorchRow{"where masked_fill masked_fill_", "where"},
    TorchRow{"maximum minimum", "maximum minimum"},
    TorchRow{"cat concat concatenate stack", "concat"},
    TorchRow{"pad", "pad"},
    TorchRow{"gather index_select embedding Embedding take_along_dim", "gather index"},
    TorchRow{"scatter scatter_ scatter_add scatter_add_ index_add_ index_put_", "scatter index_put"},
    TorchRow{"sort argsort", "sort"},
    TorchRow{"topk", "topk"},
    TorchRow{"tril triu", "tril triu"},
    TorchRow{"cross_entropy CrossEntropyLoss nll_loss", "log_softmax gather mean", false, true},
    TorchRow{"mse_loss MSELoss smooth_l1_loss SmoothL1Loss l1_loss huber_loss HuberLoss kl_div KLDivLoss "
             "hinge_embedding_loss cosine_embedding_loss triplet_margin_loss TripletMarginLoss",
             "mean sum sub", false, true},
    TorchRow{"cosine_similarity pairwise_distance cdist", "norm mul sum div", false, true},
    TorchRow{"dropout Dropout Dropout2d alpha_dropout", "random mul"},
};

constexpr std::array library_rows = {
    LibraryRow{"cublasLtMatmul", "cuBLASLt", "matmul linear einsum conv", Work::product},
    LibraryRow{"cublasSgemm", "cuBLAS", "matmul linear einsum conv", Work::product},
    LibraryRow{"cublasHgemm", "cuBLAS", "matmul linear einsum conv", Work::product},
    LibraryRow{"cublasDgemm", "cuBLAS", "matmul linear einsum conv", Work::product},
    LibraryRow{"cublasGemm", "cuBLAS", "matmul linear einsum conv", Work::product},
    LibraryRow{"cublasSgemv", "cuBLAS", "matmul linear", Work::product},
    LibraryRow{"cudnnConvolutionBiasActivationForward", "cuDNN", "conv", Work::product, true},
    LibraryRow{"cudnnConvolutionForward", "cuDNN", "conv", Work::product},
    LibraryRow{"cudnnConvolutionBackwardData", "cuDNN", "conv_transpose", Work::product},
    LibraryRow{"cudnnBackendExecute", "cuDNN", "conv matmul attention batch_norm layer_norm", Work::product,
               true},
    LibraryRow{"cudnnRNNForward", "cuDNN", "rnn", Work::product},
    LibraryRow{"cudnnSoftmaxForward", "cuDNN", "softmax log_softmax", Work::reduction},
    LibraryRow{"cudnnBatchNormalizationForward", "cuDNN", "batch_norm", Work::reduction},
    LibraryRow{"cudnnPoolingForward", "cuDNN", "max_pool avg_pool", Work::reduction},
    LibraryRow{"cudnnActivationForward", "cuDNN", "relu sigmoid tanh elu", Work::pointwise},
    LibraryRow{"cudnnMultiHeadAttnForward", "cuDNN", "attention", Work::product},
    LibraryRow{"cutlass", "CUTLASS", "matmul linear conv", Work::product, true},
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

const TorchRow* find_torch(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const TorchRow*> out;
    for (const TorchRow& row : torch_rows)
      for (std::string_view each : words_of(row.names)) out[each] = &row;
    return out;
  }();
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

std::vector<std::string> operator_names(std::string_view operators) {
  std::vector<std::string> out;
  for (std::string_view each : words_of(operators)) out.emplace_back(each);
  return out;
}

bool is_common_method(std::string_view name) {
  for (std::string_view each :
       {"max", "min", "sort", "pad", "log", "add", "dot", "index", "exp", "abs", "pow"})
    if (name == each) return true;
  return false;
}

const LibraryRow* find_library(std::string_view name) {
  if (!name.starts_with("cu")) return nullptr;
  for (const LibraryRow& row : library_rows)
    if (name.starts_with(row.prefix)) return &row;
  return nullptr;
}

}  // namespace stitch::rubric
