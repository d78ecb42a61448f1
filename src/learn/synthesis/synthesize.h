// Many tasks, filtered, written as a folder: tasks/NAME.py, graphs/NAME/graph.txt, tasks.jsonl, report.json.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/json.h"
#include "gpu/gpu_spec.h"
#include "import/exporter.h"
#include "learn/synthesis/canonical.h"
#include "learn/synthesis/recipes.h"
#include "oracle/tensor.h"

namespace stitch::learn {

// Which composed models are tasks worth having. Each filter has a name, and the report its count.

enum class Filter : uint8_t {
  impossible,      // operators that do not fit, or an invalid graph
  random,          // draws numbers
  floor_time,      // too short to measure, or too long to wait for
  duplicate,       // the same graph as a task before it
  benchmark,       // too much like a task of KernelBench
  oracle,          // the oracle cannot compute it
  not_finite,      // NaN, infinity, or beyond its type
  constant,        // the same everywhere
  insensitive,     // an input that does not matter
  not_in_pytorch,  // PyTorch cannot run it
  disagrees,       // PyTorch's graph of the text computes something else
};
inline constexpr int filter_count = 11;
std::string_view name(Filter filter);
std::string_view why(Filter filter);

struct Rejection {
  Filter filter;
  std::string reason;
};

struct FilterOptions {
  GpuSpec gpu;
  double least_seconds = 1e-6, most_seconds = 2e-2;  // of the floor, without the launch
  double most_similar = 0.5;
  const std::vector<NamedSketch>* benchmark = nullptr;  // null: KernelBench's
  Exporter* exporter = nullptr;                         // null: there is no PyTorch
};

class Filters {
 public:
  explicit Filters(FilterOptions options) : options_(std::move(options)) {}
  // In the order of the enum, the first that says no. What is kept is known from now on.
  std::optional<Rejection> reject(const Composed& full, const Composed& miniature);

  // One by one, for tests and for other graphs.
  static std::optional<Rejection> reject_random(const Graph& graph);
  std::optional<Rejection> reject_floor(const Graph& graph) const;
  std::optional<Rejection> reject_duplicate(const Graph& graph);
  std::optional<Rejection> reject_similar(const Graph& graph) const;
  // By the oracle, on small sizes.
  static std::optional<Rejection> reject_behaviour(const Graph& graph);
  std::optional<Rejection> reject_in_pytorch(const Composed& miniature) const;

 private:
  FilterOptions options_;
  std::set<std::string> known_;  // hashes
};

// An input, or a weight about as large as PyTorch makes it: the same on every machine.
oracle::Tensor drawn_leaf(const Graph& graph, ValueId id, uint64_t seed);

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
