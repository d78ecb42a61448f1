// Rows of single regions, in the form that `optimize --coder llm:…` asks a Coder for them: each region a task
// of its own, known answers from the built-in techniques, programs before a change that are slower or broken
// by one small mistake. Nothing is in a row that wasn't built and judged.
#pragma once

#include <functional>
#include <set>

#include "learn/coder/choices.h"
#include "learn/skills/rows.h"
#include "prompts/templates.h"

namespace stitch::learn {

// A region of a plan as a graph of its own: what it reads are inputs, what it writes are outputs.
Result<Graph> graph_of_region(const Graph& graph, const plan::Region& region);

// A built-in implementation of a graph's whole pass as a Coder would answer: nothing outside of the source
// but packed weights, which it declares.
struct KnownAnswer {
  std::string source, idea;
  double seconds = 0;  // by the cost model
};
// Fastest first, the best of each technique before others of its knobs; empty: no technique computes all of
// it in a form that an answer can have.
Result<std::vector<KnownAnswer>> known_answers(const std::shared_ptr<const PlannedTask>& task, size_t most);

struct RegionRowsOptions {
  fs::path out;  // rows.jsonl, tasks/NAME/graph.txt; rows that are there stay
  GpuSpec gpu;
  std::vector<prompts::Prompt> prompts;
  size_t most_answers = 4, most_broken = 3;  // of a region
  double most_flops = 1e7;                   // of a region: the emulated GPU computes it
  double most_similar = 0.5;                 // to a benchmark's task
  uint64_t seed = 1;
  // What the reward service says of a source for a task: {"label", "reward", "feedback", "verdict"}.
  std::function<Json(const fs::path& task, const std::string& name, const std::string& source)> judge;
  std::function<bool()> should_stop;
  std::function<void(const std::string& region, int64_t rows)> on_region;
};
struct RegionRowsReport {
  int64_t regions = 0, known = 0, left_out = 0, without_answer = 0;  // known: had rows already
  int64_t rows = 0, judged = 0, judged_right = 0;
  std::string last_refused;  // of a built-in source that was not right as an answer
};
// The weights of tasks that have none on disk: the same on every machine, so that they need not be carried.
Result<void> write_missing_weights(const fs::path& tasks);
// Of the regions that the built-in Planner makes of graphs. May be ended at any time; the same call goes on.
Result<RegionRowsReport> rows_of_regions(const std::vector<fs::path>& graphs,
                                         const RegionRowsOptions& options);

}  // namespace stitch::learn
