// Import time per task: KernelBench's Level 3 where a checkout is in .kernelbench/, the examples elsewhere.
// One exporter for all, as `import --all` uses it; the first line is what starting it costs.
#include <benchmark/benchmark.h>

#include "import/import_all.h"

namespace stitch {
namespace {

Exporter& exporter() {
  static Exporter one = *Exporter::start();
  return one;
}

void import_one(benchmark::State& state, const fs::path& task) {
  auto scratch = ScratchFolder::create("stitch_bench");
  for (auto _ : state) {
    auto imported = import_task(
        exporter(), {.task = task, .out = scratch->path() / "out", .overwrite = Overwrite::force});
    if (!imported) return state.SkipWithError(imported.error().message.c_str());
    state.counters["nodes"] = static_cast<double>(imported->graph.nodes.size());
  }
}

const bool registered = [] {
  std::error_code ec;
  fs::path level3 = STITCH_SOURCE_DIR "/.kernelbench/KernelBench/level3",
           examples = STITCH_SOURCE_DIR "/examples";
  auto tasks = find_tasks(fs::is_directory(level3, ec) ? level3 : examples);
  if (!tasks) return false;
  benchmark::RegisterBenchmark("start_and_first_task",
                               [task = (*tasks)[0]](benchmark::State& state) { import_one(state, task); })
      ->Iterations(1)
      ->Unit(benchmark::kSecond)
      ->UseRealTime();
  for (const fs::path& task : *tasks)
    benchmark::RegisterBenchmark(task.stem().c_str(),
                                 [task](benchmark::State& state) { import_one(state, task); })
        ->Iterations(1)
        ->Unit(benchmark::kSecond)
        ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace stitch
