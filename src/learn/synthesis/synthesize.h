// Many tasks, filtered, written as a folder: tasks/NAME.py, graphs/NAME/graph.txt, tasks.jsonl, report.json.
#pragma once

#include <functional>
#include <map>

#include "base/json.h"
#include "learn/synthesis/filters.h"

namespace stitch::learn {

struct SynthesisOptions {
  int64_t count = 1000;
  uint64_t seed = 1;
  FilterOptions filters;
  std::function<bool()> should_stop;
  std::function<void(int64_t kept, int64_t tried)> on_progress;
};
struct SynthesisReport {
  int64_t tried = 0, kept = 0;
  std::map<Filter, int64_t> rejected;
  std::map<std::string, int64_t> splits, recipes;
  bool stopped = false, in_pytorch = false;
};
Json to_json(const SynthesisReport& report);

// Each kept task is handed to `keep` as it is found, with its line of tasks.jsonl.
Result<SynthesisReport> synthesize(
    const SynthesisOptions& options,
    const std::function<Result<void>(const Composed&, const Json& line)>& keep);
// Into `folder`, which exists.
Result<SynthesisReport> synthesize_into(const fs::path& folder, const SynthesisOptions& options);

}  // namespace stitch::learn
