// Scoring one candidate: its sources taken apart, evidence, rubric and reward, nothing built or run. Goal:
// under 50 ms.
#include <benchmark/benchmark.h>

#include "rubric/pairs.h"
#include "rubric/reward.h"

namespace stitch::rubric {
namespace {

void score(benchmark::State& state, const fs::path& program) {
  const std::vector<Source> sources = *read_sources(program);
  Execution run{.outcome = Outcome::passed, .native = true, .speedup = 1.4};
  double value = 0;
  for (auto _ : state) {
    const Evidence evidence = gather(sources, run, testing::operators_of_task("mlp"));
    const Scores scores = judge(evidence);
    value = reward(RewardKind::combined, evidence.run, scores, evidence.skill).value;
    benchmark::DoNotOptimize(value);
  }
  size_t bytes = 0;
  for (const Source& source : sources) bytes += source.text.size();
  state.counters["bytes"] = static_cast<double>(bytes);
}

void one_file(benchmark::State& state) { score(state, testing::pairs_folder() / "mlp_all_own.py"); }
BENCHMARK(one_file)->Unit(benchmark::kMillisecond);

// A program folder with all the headers that it includes.
void program_with_headers(benchmark::State& state) {
  score(state, fs::path(STITCH_SOURCE_DIR) / "examples/programs/mlp");
}
BENCHMARK(program_with_headers)->Unit(benchmark::kMillisecond);

void change(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(judge(testing::candidate("tensor_followed")));
}
BENCHMARK(change)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stitch::rubric
