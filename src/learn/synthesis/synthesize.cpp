#include "learn/synthesis/synthesize.h"

#include <nlohmann/json.hpp>

#include "base/contained.h"
#include "base/json.h"
#include "gpu/floor.h"
#include "graph/cost.h"
#include "graph/folder.h"
#include "graph/text.h"
#include "learn/draw.h"

namespace stitch::learn {

namespace {

// More tries than this a task, and the filters leave nothing.
constexpr int64_t most_tries_a_task = 200;

Json line_of(const Composed& task, const FilterOptions& options) {
  const Sketch sketch = sketch_of(task.graph);
  const Nearest nearest = nearest_of(sketch, options.benchmark ? *options.benchmark : kernelbench_sketches());
  return {{"name", task.name},
          {"task", format("tasks/{}.py", task.name)},
          {"graph", format("graphs/{}", task.name)},
          {"hash", canonical_hash(task.graph)},
          {"sketch", sketch_line({"", sketch}).substr(1)},
          {"split", name(split_of(task.name))},
          {"dtype", name(task.dtype)},
          {"recipes", task.recipes},
          {"nodes", task.graph.nodes.size()},
          {"floor_seconds", floor_of(task.graph, cost(task.graph), options.gpu).seconds()},
          {"nearest_benchmark", {{"task", nearest.name}, {"similarity", nearest.similarity}}}};
}

}  // namespace

Result<SynthesisReport> synthesize(
    const SynthesisOptions& options,
    const std::function<Result<void>(const Composed&, const Json& line)>& keep) {
  Filters filters(options.filters);
  SynthesisReport out;
  out.in_pytorch = options.filters.exporter != nullptr;
  for (int64_t number = 0; out.kept < options.count; ++number) {
    if (options.should_stop && options.should_stop()) {
      out.stopped = true;
      break;
    }
    if (out.tried >= most_tries_a_task * options.count)
      return work_error("synthesis",
                        format("only {1} tasks passed the filters in {0} tries", out.tried, out.kept),
                        "widen the range of floor times");
    ++out.tried;
    if (options.on_progress) options.on_progress(out.kept, out.tried);
    const auto full = compose(options.seed, number, Scale::full),
               miniature = compose(options.seed, number, Scale::miniature);
    if (!full || !miniature) {
      ++out.rejected[Filter::impossible];
      continue;
    }
    if (auto rejection = filters.reject(*full, *miniature)) {
      ++out.rejected[rejection->filter];
      continue;
    }
    const Json line = line_of(*full, options.filters);
    STITCH_CHECK(keep(*full, line));
    ++out.kept;
    ++out.splits[line["split"]];
    for (const std::string& recipe : full->recipes) ++out.recipes[recipe];
  }
  return out;
}

Result<SynthesisReport> synthesize_into(const fs::path& folder, const SynthesisOptions& options) {
  std::error_code failed;
  fs::create_directories(folder / "tasks", failed);
  std::string lines;
  STITCH_TRY(SynthesisReport report,
             synthesize(options, [&](const Composed& task, const Json& line) -> Result<void> {
               const fs::path graph = folder / "graphs" / task.name;
               std::error_code ignored;  // the write below says what is wrong
               fs::create_directories(graph, ignored);
               STITCH_CHECK(write_file(folder / "tasks" / (task.name + ".py"), task.python));
               STITCH_CHECK(write_file(graph / graph_file, print_graph(task.graph)));
               lines += line_text(line) + "\n";
               return {};
             }));
  STITCH_CHECK(write_file(folder / "tasks.jsonl", lines));
  STITCH_CHECK(write_file(folder / "report.json", document_text(to_json(report))));
  return report;
}

Json to_json(const SynthesisReport& report) {
  Json out = {{"tried", report.tried},           {"kept", report.kept},        {"stopped", report.stopped},
              {"in_pytorch", report.in_pytorch}, {"rejected", Json::object()}, {"splits", report.splits},
              {"recipes", report.recipes}};
  for (int i = 0; i < filter_count; ++i) {
    const auto filter = static_cast<Filter>(i);
    const auto found = report.rejected.find(filter);
    out["rejected"][std::string(name(filter))] = found == report.rejected.end() ? 0 : found->second;
  }
  return out;
}

}  // namespace stitch::learn
