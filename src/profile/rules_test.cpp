#include "profile/rules.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/testdata/must.h"

namespace stitch::profile {
namespace {

using enum Metric;

GpuSpec h200() { return *find_gpu("H200"); }

Activity launch(int blocks, int threads, int registers_each = 32, int64_t shared = 0) {
  Activity out{.name = "f()", .registers = registers_each, .shared_bytes = shared};
  out.grid[0] = blocks;
  out.block[0] = threads;
  out.grid[1] = out.grid[2] = out.block[1] = out.block[2] = 1;
  return out;
}

Subject subject(double seconds, const Activity& one, std::map<Metric, double> counters = {}, Work work = {}) {
  Subject out{.name = "f", .seconds = seconds, .launch = one, .work = work};
  out.metrics = metrics_of_launch(one, nullptr, h200());
  if (!counters.empty()) {
    out.metrics.values.insert(counters.begin(), counters.end());
    out.metrics.sources.push_back(Source::ncu);
  }
  return out;
}

std::string rule_of(const Subject& one) {
  const Diagnosis found = diagnose(one, h200());
  EXPECT_GE(found.expected_gain_seconds, 0);
  EXPECT_LE(found.expected_gain_seconds, one.seconds);
  EXPECT_FALSE(found.suggestion.empty());
  return found.rule + " " + std::string(name(found.bottleneck));
}

TEST(KernelRules, WithCounters) {
  const Activity full = launch(10'000, 256);
  EXPECT_EQ(
      rule_of(subject(250e-6, full, {{dram_throughput, 91}, {sm_throughput, 14}, {global_load_sectors, 16}})),
      "at_bandwidth memory");
  EXPECT_EQ(
      rule_of(subject(250e-6, full, {{dram_throughput, 85}, {sm_throughput, 8}, {global_load_sectors, 32}})),
      "uncoalesced memory");
  EXPECT_EQ(rule_of(subject(250e-6, full, {{sm_throughput, 96}, {fma_active, 95}, {dram_throughput, 2}})),
            "at_arithmetic compute");
  EXPECT_EQ(rule_of(subject(250e-6, full, {{sm_throughput, 55}, {tensor_active, 52}, {dram_throughput, 2}})),
            "mostly_arithmetic compute");
  EXPECT_EQ(
      rule_of(subject(
          250e-6, full,
          {{sm_throughput, 30}, {l1_throughput, 97}, {shared_active, 97}, {shared_load_conflicts, 31}})),
      "bank_conflicts memory");
  EXPECT_EQ(
      rule_of(subject(
          250e-6, full,
          {{sm_throughput, 30}, {l1_throughput, 70}, {local_loads, 1e6}, {local_stores, 1e6}, {loads, 1e3}})),
      "spilled_registers memory");
  EXPECT_EQ(rule_of(subject(250e-6, full, {{sm_throughput, 12}, {stall_barrier, 20}, {issue_active, 12}})),
            "waiting_warps latency");
  EXPECT_EQ(rule_of(subject(250e-6, full, {{sm_throughput, 40}, {sm_imbalance, 3.2}})),
            "uneven_blocks imbalance");
  EXPECT_EQ(rule_of(subject(250e-6, launch(528, 256, 222), {{sm_throughput, 12}, {issue_active, 12}})),
            "few_warps occupancy");
  EXPECT_EQ(
      rule_of(subject(250e-6, launch(8, 1024), {{sm_throughput, 5}, {issue_active, 95}, {sm_imbalance, 16}})),
      "empty_gpu occupancy");
  EXPECT_EQ(
      rule_of(subject(250e-6, launch(1, 32), {{sm_throughput, 0.1}, {issue_active, 2}, {sm_imbalance, 132}})),
      "dependent_chain latency");
  // A large tensor-core kernel has few warps and is fine.
  EXPECT_EQ(
      rule_of(subject(250e-6, launch(132, 384, 168, 200'000), {{sm_throughput, 82}, {tensor_active, 80}})),
      "at_arithmetic compute");
}

TEST(KernelRules, WithTheTimelineAlone) {
  const Activity full = launch(10'000, 256);
  EXPECT_EQ(rule_of(subject(300e-6, full, {}, {.bytes = 1.07e9})), "at_bandwidth memory");
  EXPECT_EQ(rule_of(subject(300e-6, full, {}, {.bytes = 1e6, .flops = 15e9})), "at_arithmetic compute");
  EXPECT_EQ(rule_of(subject(300e-6, full, {}, {.bytes = 1e6, .flops = 1e8})), "waiting_warps latency");
  EXPECT_EQ(rule_of(subject(2.2e-6, launch(1, 256))), "short_kernel launch");
  EXPECT_EQ(rule_of(subject(300e-6, launch(133, 1024, 32, 180'000), {}, {.flops = 1e9})),
            "tail_wave imbalance");
  EXPECT_EQ(rule_of(subject(300e-6, launch(1, 32))), "dependent_chain latency");
  EXPECT_EQ(rule_of(subject(300e-6, launch(8, 1024))), "empty_gpu occupancy");
  EXPECT_EQ(rule_of(subject(300e-6, launch(10'000, 64, 32, 200'000))), "few_warps occupancy");
  // Nothing known at all.
  EXPECT_EQ(rule_of(Subject{.name = "f", .seconds = 1e-4}), "waiting_warps latency");
  EXPECT_EQ(rule_of(Subject{.name = "f"}), "waiting_warps latency");
  EXPECT_NE(diagnose(subject(300e-6, full), h200()).missing.find("no hardware counters"), std::string::npos);
}

TEST(KernelRules, ByTheEmulatedGpusCounters) {
  Activity strided = launch(4096, 256);
  strided.counters = {{"loads", 100}, {"global_load_sectors", 32}};
  EXPECT_EQ(rule_of(subject(0, strided)), "uncoalesced memory");
  Activity conflicts = launch(4096, 256);
  conflicts.counters = {{"shared_loads", 100}, {"shared_load_conflicts", 31}};
  EXPECT_EQ(rule_of(subject(0, conflicts)), "bank_conflicts memory");
}

Timeline chain(int count, int64_t length, int64_t gap, bool synchronised = false, bool in_graph = false) {
  std::vector<Activity> all;
  for (int i = 0; i < count; ++i) {
    Activity one = launch(10'000, 256);
    one.start_ns = i * (length + gap);
    one.end_ns = one.start_ns + length;
    one.in_graph = in_graph;
    all.push_back(one);
    if (synchronised)
      all.push_back({.name = "cudaStreamSynchronize",
                     .kind = ActivityKind::host_call,
                     .start_ns = one.start_ns,
                     .end_ns = one.end_ns + gap / 2});
  }
  return make_timeline(Side::program, "H200", std::move(all));
}

std::string whole(const Timeline& timeline) {
  const double seconds = static_cast<double>(summarise(timeline).kernel_ns) * 1e-9;
  Subject one = subject(seconds, launch(10'000, 256), {}, {.bytes = 3e12 * seconds});
  one.launches = static_cast<int>(timeline.activities.size());
  const Diagnosis found = diagnose(timeline, {one}, h200()).whole;
  return found.rule + " " + std::string(name(found.bottleneck));
}

TEST(CallRules, NameLaunchesAndHost) {
  EXPECT_EQ(whole(chain(200, 2'000, 3'000)), "gaps_between_launches launch");
  EXPECT_EQ(whole(chain(200, 2'000, 400, false, true)), "many_short_kernels launch");
  EXPECT_EQ(whole(chain(50, 5'000, 9'000, true)), "waiting_host host");
  EXPECT_EQ(whole(chain(30, 5'000, 60'000)), "working_host host");
  EXPECT_EQ(whole(chain(10, 500'000, 2'000)), "at_bandwidth memory");
  std::vector<Activity> copies = {
      {.name = "copy device to host", .kind = ActivityKind::copy, .end_ns = 1'000'000}};
  EXPECT_EQ(whole(make_timeline(Side::program, "H200", copies)), "copies_to_host host");
  const Diagnoses nothing = diagnose(Timeline{}, {}, h200());
  EXPECT_EQ(nothing.whole.rule, "nothing_ran");
}

TEST(CallRules, ExpectWhatTheGapsCost) {
  const Diagnosis found = diagnose(chain(100, 10'000, 10'000), {}, h200()).whole;
  EXPECT_EQ(found.bottleneck, Bottleneck::launch);
  // 990 us of gaps, of which a CUDA graph leaves 1.5 us a kernel.
  EXPECT_NEAR(found.expected_gain_seconds, 840e-6, 5e-6);
}

TEST(Diagnosis, IsTheSameAfterJson) {
  const Diagnosis one = diagnose(subject(300e-6, launch(10'000, 256), {}, {.bytes = 1e9}), h200());
  auto back = must(diagnosis_from_json(to_json(one)));
  EXPECT_EQ(to_json(back), to_json(one));
  EXPECT_NE(text(one).find("memory-bound"), std::string::npos) << text(one);
  for (const char* wrong :
       {"3", "{}", R"({"bottleneck": "luck", "suggestion": "x"})", R"({"bottleneck": "host"})",
        R"({"bottleneck": "host", "suggestion": "x", "seconds": "y"})",
        R"({"bottleneck": "host", "suggestion": "x", "evidence": [1]})",
        R"({"bottleneck": "host", "suggestion": "x", "evidence": 1})"})
    EXPECT_FALSE(diagnosis_from_json(Json::parse(wrong))) << wrong;
  EXPECT_TRUE(Json::parse(diagnosis_schema()).contains("properties"));
}

TEST(Rules, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const auto& list : {call_rules(), kernel_rules()})
    for (const RuleInfo& rule : list) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
}

// One launch a region needs, whatever is done to it: that is no gain.
TEST(KernelRules, GainsAreAgainstTheFloor) {
  const GpuSpec gpu = h200();
  Subject one = subject(1.51e-6, launch(264, 256), {}, {.bytes = 1e4, .flops = 1e4});
  EXPECT_EQ(rule_of(one), "short_kernel launch");
  EXPECT_LT(diagnose(one, gpu).expected_gain_seconds, 0.02e-6);
  one.launches = 2;
  one.seconds = 3.02e-6;
  EXPECT_NEAR(diagnose(one, gpu).expected_gain_seconds, 1.5e-6, 0.05e-6);
}

TEST(Diagnosis, IsSaidInSentences) {
  const Diagnosis found{.subject = "program",
                        .bottleneck = Bottleneck::launch,
                        .evidence = {{"idle_share", 0, "%"},
                                     {"kernels", 28, ""},
                                     {"median_kernel_seconds", 1.5e-6, "s"},
                                     {"tail_waves", 1.25, ""}},
                        .suggestion = "fuse kernels",
                        .expected_gain_seconds = 2e-5};
  EXPECT_EQ(
      text(found),
      "launch-bound: 28 kernels, half of them take at most 1.5 us, tail waves 1.25. To do: fuse kernels, for "
      "up to 20 us a call.");
}

}  // namespace
}  // namespace stitch::profile
