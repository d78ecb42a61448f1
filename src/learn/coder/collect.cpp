#include "learn/coder/collect.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/contained.h"

namespace stitch::learn {

namespace {

// Each variant has results of its own, and several programs share the GPU's memory.
size_t affordable(const RegionProblem& problem, const CollectOptions& options) {
  double bytes = 1;
  for (ValueId id : problem.now().writes)
    bytes += static_cast<double>(problem.context().graph.type(id).bytes());
  const double share = 0.5 * problem.context().gpu.memory / options.jobs;
  return std::clamp(static_cast<size_t>(share / bytes), size_t{2}, options.choices);
}

}  // namespace

Result<Collected> collect(const std::vector<RegionProblem>& problems, Timings& timings,
                          const CollectOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  auto over = [&] {
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin;
    return (options.seconds > 0 && gone.count() > options.seconds) ||
           (options.should_stop && options.should_stop());
  };
  Collected out;
  std::mutex mutex;
  std::atomic<size_t> next = 0;
  std::optional<Error> trouble;
  int done = 0;
  auto work = [&] {
    for (;;) {
      const size_t which = next++;
      if (which >= problems.size()) return;
      const RegionProblem& problem = problems[which];
      {
        const std::lock_guard lock(mutex);
        if (trouble || over()) {
          ++out.not_begun;
          continue;
        }
        if (timings.of(problem.key)) {
          ++out.known;
          continue;
        }
      }
      auto rows = contained([&]() -> Result<std::vector<TimingRow>> {
        const std::vector<plan::Region> variants =
            choices_to_measure(problem, affordable(problem, options), options.seed);
        STITCH_TRY(const std::vector<Timed> timed, measure(problem, variants, {}));
        std::vector<TimingRow> made;
        for (size_t i = 0; i < variants.size(); ++i)
          if (timed[i].kind != Timed::Kind::unknown)
            made.push_back({problem.context().gpu.name, problem.task->name, problem.now().name, problem.key,
                            choice_text(variants[i]), timed[i]});
        return made;
      });
      const std::lock_guard lock(mutex);
      ++done;
      if (options.on_progress)
        options.on_progress(problem.task->name + " " + problem.now().name, done,
                            static_cast<int>(problems.size()));
      if (!rows) {
        out.troubles.push_back(
            format("{} {}: {}", problem.task->name, problem.now().name, rows.error().message));
        continue;
      }
      ++out.problems;
      for (const TimingRow& row : *rows) {
        timings.add(row);
        ++(row.timed.kind == Timed::Kind::timed ? out.timed : out.failed);
      }
      if (auto written = append(options.file, *rows); !written) trouble = written.error();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < options.jobs; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (trouble) return *trouble;
  return out;
}

}  // namespace stitch::learn
