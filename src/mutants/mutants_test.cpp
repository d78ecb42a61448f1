#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/testdata/must.h"
#include "mutants/campaign.h"
#include "mutants/mutation.h"
#include "mutants/report.h"
#include "mutants/workbench.h"

namespace stitch::mutants {

namespace {

Subject row_center() {
  return {fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata/row_center/graph", Variant::optimised};
}

// A small sample; docs/mutation.md has the full results.
TEST(Campaign, TheVerifierKillsASampleAndGoesOnWhereItWasEnded) {
  auto scratch = must(ScratchFolder::create("stitch-mutants-test"));
  CampaignOptions options{
      .subjects = {row_center()}, .per_program = 9, .jobs = 2, .out = scratch.path() / "a"};
  options.bench.gpu = *find_gpu("H200");
  options.bench.seed = 7;
  auto campaign = must(run_campaign(options));
  EXPECT_TRUE(campaign.left_out.empty()) << campaign.left_out[0];
  ASSERT_EQ(campaign.records.size(), 9u);
  const Counts counts = count(campaign.records);
  EXPECT_EQ(counts.survived, 0u) << report_text(campaign, {});
  EXPECT_GE(counts.killed, 4u) << report_text(campaign, {});
  EXPECT_EQ(counts.not_judged, 0u);
  std::set<std::string> kinds;
  for (const Json& record : campaign.records) kinds.insert(word(record, "kind"));
  EXPECT_GE(kinds.size(), 7u);

  options.per_program = 10;
  auto again = must(run_campaign(options));
  EXPECT_EQ(again.earlier, 9u);
  EXPECT_EQ(again.records.size(), 10u);
  auto alive = survivors_in(options.out / "results.jsonl");
  EXPECT_EQ(alive ? alive->size() : 0, count(again.records).same_results);
  options.bench.seed = 8;
  EXPECT_EQ(run_campaign(options).error().code, "settings");
}

TEST(Sample, IsTheSameForTheSameSeedAndGrowsAtItsEnd) {
  Sites sites;
  for (int i = 0; i < 40; ++i) {
    Site site{.file = "a.cu", .id = format("{}", i)};
    site.mutation.kind = all_kinds[static_cast<size_t>(i) % 5];
    (i % 3 ? sites.own : sites.shared).push_back(site);
  }
  auto ids = [&](size_t count, uint64_t seed) {
    std::vector<std::string> out;
    for (const Site& site : sample(sites, count, seed)) out.push_back(site.id);
    return out;
  };
  EXPECT_EQ(ids(12, 3), ids(12, 3));
  EXPECT_NE(ids(12, 3), ids(12, 4));
  std::vector<std::string> first = ids(30, 3);
  first.resize(12);
  EXPECT_EQ(first, ids(12, 3));
  EXPECT_EQ(ids(1000, 3).size(), 40u);
}

TEST(MachineCode, IsReadFromLibrariesAlone) {
  EXPECT_EQ(machine_code_hash(fs::path(STITCH_SOURCE_DIR) / "README.md").error().code, "elf");
  auto own = must(machine_code_hash("/proc/self/exe"));
  EXPECT_EQ(own.size(), 64u);
}

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
