#include "mutants/campaign.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "mutants/machine_code.h"
#include "mutants/report.h"

namespace stitch::mutants {
namespace {

Subject row_center() {
  return {fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata/row_center/graph", Variant::optimised};
}

// A small sample; docs/mutation.md has the full results.
TEST(Campaign, TheVerifierKillsASampleAndGoesOnWhereItWasEnded) {
  auto scratch = ScratchFolder::create("stitch-mutants-test");
  ASSERT_TRUE(scratch);
  CampaignOptions options{
      .subjects = {row_center()}, .per_program = 9, .jobs = 2, .out = scratch->path() / "a"};
  options.bench.gpu = *find_gpu("H200");
  options.bench.seed = 7;
  auto campaign = run_campaign(options);
  ASSERT_TRUE(campaign) << campaign.error().text();
  EXPECT_TRUE(campaign->left_out.empty()) << campaign->left_out[0];
  ASSERT_EQ(campaign->records.size(), 9u);
  const Counts counts = count(campaign->records);
  EXPECT_EQ(counts.survived, 0u) << report_text(*campaign, {});
  EXPECT_GE(counts.killed, 4u) << report_text(*campaign, {});
  EXPECT_EQ(counts.not_judged, 0u);
  std::set<std::string> kinds;
  for (const Json& record : campaign->records) kinds.insert(word(record, "kind"));
  EXPECT_GE(kinds.size(), 7u);

  options.per_program = 10;
  auto again = run_campaign(options);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->earlier, 9u);
  EXPECT_EQ(again->records.size(), 10u);
  auto alive = survivors_in(options.out / "results.jsonl");
  EXPECT_EQ(alive ? alive->size() : 0, count(again->records).same_results);
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
  auto own = machine_code_hash("/proc/self/exe");
  ASSERT_TRUE(own) << own.error().text();
  EXPECT_EQ(own->size(), 64u);
}

}  // namespace
}  // namespace stitch::mutants
