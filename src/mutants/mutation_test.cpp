#include "mutants/mutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace stitch::mutants {
namespace {

constexpr std::string_view kernel = R"(#include "stitch/runtime/launch.h"
// A comment with 1.5f + 2 [i] __syncthreads();
namespace {
__global__ void norm(const float* __restrict__ x, float* __restrict__ y) {  // (42, 48)
  __shared__ float partial[64];
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < 48; i += 32) sum += x[row * 48 + i];
  for (int e = 0; e < 2; ++e) sum *= 1.5f;
  partial[threadIdx.x] = sum;
  __syncthreads();
  const float scale = rsqrtf(partial[0] + 1e-05f);
  if (row < 42) y[row] = stitch::clamp(sum * scale, 0.0f, 6.0f);
}
}  // namespace

StitchStatus enqueue_norm(const float* x, float* y, cudaStream_t stream) {
  return stitch::launch("norm", norm, stitch::spread(1344, 256), stream, x, y);
}
)";

std::set<std::string> changes(Kind kind) {
  std::set<std::string> out;
  for (const Mutation& mutation : mutations_of(kernel))
    if (mutation.kind == kind) out.insert(change_of(kernel, mutation).after);
  return out;
}

TEST(Mutations, HaveEveryKind) {
  std::map<Kind, int> seen;
  for (const Mutation& mutation : mutations_of(kernel)) ++seen[mutation.kind];
  for (Kind kind : all_kinds) EXPECT_GT(seen[kind], 0) << name(kind);
}

TEST(Mutations, AreWhatTheirKindSays) {
  EXPECT_TRUE(changes(Kind::barrier).contains(";"));
  EXPECT_EQ(changes(Kind::epsilon), (std::set<std::string>{
                                        "const float scale = rsqrtf(partial[0] + 0.001f);",
                                        "const float scale = rsqrtf(partial[0] + 0.0f);",
                                    }));
  EXPECT_TRUE(changes(Kind::tile)
                  .contains("for (int i = threadIdx.x; i < 48; i += 2 * (32)) sum += x[row * "
                            "48 + i];"));
  EXPECT_TRUE(changes(Kind::tile).contains("for (int e = 0; e < 2; e += 2) sum *= 1.5f;"));
  EXPECT_TRUE(changes(Kind::tail)
                  .contains("if (row < 42 - 1) y[row] = stitch::clamp(sum * scale, 0.0f, "
                            "6.0f);"));
  EXPECT_TRUE(
      changes(Kind::stride).contains("for (int i = threadIdx.x; i < 48; i += 32) sum += x[row * 47 + i];"));
  EXPECT_TRUE(changes(Kind::index)
                  .contains("for (int i = threadIdx.x; i < 48; i += 32) sum += x[row * 48 + i + 1];"));
  EXPECT_TRUE(
      changes(Kind::accumulator)
          .contains("for (int i = threadIdx.x; i < 48; i += 32) sum = __half2float(__float2half(sum + "
                    "(x[row * 48 + i])));"));
  EXPECT_TRUE(changes(Kind::term).contains("if (row < 42) y[row] = (sum * scale);"));
  EXPECT_TRUE(changes(Kind::term).contains("const float scale = rsqrtf(partial[0] );"));
}

TEST(Mutations, LeaveCommentsIncludesAndTheEndsOfTheTextAlone) {
  for (const Mutation& mutation : mutations_of(kernel)) {
    EXPECT_GT(mutation.line, 3u) << change_of(kernel, mutation).after;
    const std::string text = applied(kernel, mutation);
    EXPECT_NE(text, kernel);
    EXPECT_EQ(mutation.line, 1 + std::ranges::count(kernel.substr(0, mutation.begin), '\n'));
  }
  for (std::string_view odd : {"", "}", "((((", "for (;;", "x[", "a + ", "return", "float x = 0", "\xff[1]"})
    (void)mutations_of(odd);
}

}  // namespace
}  // namespace stitch::mutants
