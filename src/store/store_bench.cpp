// How long a listing takes of a store with 10,000 attempts: under 100 ms is promised.
#include <benchmark/benchmark.h>

#include "store/database.h"
#include "store/run_store.h"

namespace stitch::store {
namespace {

constexpr int runs = 500, attempts = 20;

const fs::path& store_of_10000_attempts() {
  static const auto folder = ScratchFolder::create("stitch-store-bench");
  static const fs::path file = [] {
    fs::path out = folder->path() / "runs.db";
    auto store = RunStore::open(out);
    require(static_cast<bool>(store), "a store");
    (void)store->database().execute("PRAGMA synchronous = OFF");
    for (int i = 0; i < runs; ++i) {
      auto run = store->begin({.task = format("task{}", i), .options = std::string(500, 'o')});
      for (int j = 0; j < attempts; ++j)
        (void)store->append(*run, {.kind = "attempt", .body = std::string(2000, 'e')}, {.attempts = j + 1},
                            {format("source {} {} {}", i, j, std::string(4000, 's'))});
    }
    return out;
  }();
  return file;
}

// As the command does: opened anew.
void list(benchmark::State& state) {
  const fs::path& file = store_of_10000_attempts();
  for (auto _ : state) {
    auto store = RunStore::open(file, RunStore::Access::read);
    auto all = store->list();
    require(all && all->size() == runs, "every run");
  }
}
BENCHMARK(list)->Unit(benchmark::kMillisecond);

void append(benchmark::State& state) {
  auto store = RunStore::open(store_of_10000_attempts());
  auto run = store->begin({.task = "more"});
  int number = 0;
  for (auto _ : state)
    (void)store->append(*run, {.kind = "attempt", .body = std::string(2000, 'e')}, {},
                        {format("another {} {}", ++number, std::string(4000, 's'))});
}
BENCHMARK(append)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stitch::store
