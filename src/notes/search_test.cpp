#include <algorithm>

#include "notes/search.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "notes/words.h"

namespace stitch::notes {
namespace {

TEST(Words, OfCudaAreKept) {
  EXPECT_EQ(join(words_of("cp.async.bulk"), " "), "cp.async.bulk cp async bulk");
  EXPECT_EQ(join(words_of("__launch_bounds__(256)"), " "), "launch_bounds launch bound 256");
  EXPECT_EQ(join(words_of("sm_90a"), " "), "sm_90a sm 90a");
  EXPECT_EQ(join(words_of("cudaGraphLaunch"), " "), "cudagraphlaunch cuda graph launch");
  EXPECT_EQ(join(words_of("split-K of wgmma."), " "), "split-k split wgmma");
}

TEST(Words, LoseTheirEndings) {
  EXPECT_EQ(words_of("coalesced"), words_of("coalescing"));
  EXPECT_EQ(words_of("vectorised"), words_of("vectorization"));
  EXPECT_EQ(words_of("reductions"), words_of("reduction"));
  EXPECT_EQ(words_of("padding"), words_of("pad"));
  EXPECT_EQ(words_of("caches"), words_of("caching"));
  EXPECT_NE(words_of("mma"), words_of("ma"));
  EXPECT_EQ(join(words_of("loss"), " "), "loss");
}

struct Question {
  const char *asked, *expected;
};
constexpr Question questions[] = {
    {"my loads are not coalesced", "coalesced-loads"},
    {"float4 vector loads misaligned", "vectorised-loads"},
    {"bank conflicts in shared memory", "shared-memory-banks"},
    {"swizzle for ldmatrix", "xor-swizzle"},
    {"cp.async multi stage pipeline", "cp-async"},
    {"TMA descriptor CUtensorMap", "tma-loads"},
    {"kernel hangs waiting for mbarrier parity", "mbarriers"},
    {"distributed shared memory cluster", "clusters-dsmem"},
    {"wgmma hopper gemm", "wgmma"},
    {"tcgen05 tensor memory", "tcgen05-tmem"},
    {"FP32 accuracy on fp16 tensor cores", "split-fp16-products"},
    {"__expf accuracy", "fast-math-errors"},
    {"variance cancellation in one pass", "welford"},
    {"softmax over long rows", "online-softmax"},
    {"results differ from run to run atomics", "deterministic-reductions"},
    {"cumsum", "scans"},
    {"too many registers spilling", "local-memory-spills"},
    {"few output tiles and large K", "split-k"},
    {"launch overhead of many small kernels", "cuda-graphs"},
    {"one query with long KV cache", "decode-attention"},
    {"flash attention causal", "flash-attention"},
    {"LSTM is slow", "persistent-rnn"},
    {"transposed convolution stride 2", "transposed-conv"},
    {"depthwise convolution", "depthwise-conv"},
    {"cublasLt bias relu epilogue", "cublaslt-epilogues"},
    {"NCHW to NHWC transpose", "tiled-transpose"},
    {"racecheck initcheck", "compute-sanitizer"},
    {"index overflow for large tensors", "index-overflow"},
    {"batch norm training running mean", "batch-norm-train"},
    {"griddepcontrol PDL", "programmatic-dependent-launch"},
    {"matrix vector product decode", "gemv"},
    {"topk", "sort-and-top-k"},
};

TEST(Search, FindsTheNoteAmongTheFirstThree) {
  for (const auto& [asked, expected] : questions) {
    std::vector<std::string> names;
    for (const Hit& hit : search(built_in(), asked, 3)) names.push_back(hit.note->name);
    EXPECT_NE(std::ranges::find(names, expected), names.end()) << asked << ": " << join(names, ", ");
  }
}

TEST(Search, KeepsToAnArchitecture) {
  for (const Hit& hit : search(built_in(), "wgmma tcgen05 TMA tensor core", 20, "sm_80"))
    EXPECT_TRUE(hit.note->applies("sm_80")) << hit.note->name;
  EXPECT_EQ(search(built_in(), "tcgen05", 1, "sm_100").at(0).note->name, "tcgen05-tmem");
}

TEST(Search, AnswersNothingToNothing) {
  EXPECT_TRUE(search(built_in(), "").empty());
  EXPECT_TRUE(search(built_in(), "of the and", 3).empty());
  EXPECT_TRUE(search(built_in(), "xyzzy plugh", 3).empty());
  EXPECT_TRUE(search({}, "softmax", 3).empty());
  EXPECT_EQ(search(built_in(), std::string(1 << 20, 'a') + " softmax", 2).size(), 2u);
}

}  // namespace
}  // namespace stitch::notes
