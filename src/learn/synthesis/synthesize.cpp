#include "learn/synthesis/synthesize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/contained.h"
#include "base/text.h"
#include "gpu/floor.h"
#include "graph/cost.h"
#include "graph/folder.h"
#include "graph/text.h"
#include "import/import.h"
#include "learn/draw.h"
#include "oracle/interpreter.h"

namespace stitch {

extern const std::string_view embedded_kernelbench_sketches;

}  // namespace stitch

namespace stitch::learn {

oracle::Tensor drawn_leaf(const Graph& graph, ValueId id, uint64_t seed) {
  const Value& value = graph[id];
  std::vector<double> values(static_cast<size_t>(value.type.elements()));
  Draw draw(seed, stable_hash(value.name));
  const bool weight = value.has_data();
  // Weights about as large as PyTorch makes them; the second dimension on is what sums go over.
  double fan = 1;
  for (size_t i = 1; i < value.type.shape.size(); ++i) fan *= static_cast<double>(value.type.shape[i]);
  for (double& each : values)
    each = !is_floating(value.type.dtype) ? 0
           : !weight                      ? draw.uniform()
           : value.type.rank() < 2        ? 0.5 + draw.uniform()
                                          : (2 * draw.uniform() - 1) * std::sqrt(3 / fan);
  return oracle::Tensor::of(value.type.dtype, value.type.shape, values);
}

namespace {

struct FilterText {
  std::string_view name, why;
};
constexpr std::array<FilterText, filter_count> texts = {{
    {"impossible", "operators with incompatible shapes"},
    {"random", "draws random numbers"},
    {"floor time", "floor time out of range"},
    {"duplicate", "the same graph as a task before it"},
    {"benchmark", "too much like a task of KernelBench"},
    {"oracle", "the oracle cannot compute it"},
    {"not finite", "NaN, infinity, or beyond the range of its type"},
    {"constant", "the output is constant"},
    {"insensitive", "an input that the output does not depend on"},
    {"not in PyTorch", "PyTorch cannot run it"},
    {"disagrees", "PyTorch's exported graph computes something else"},
}};

constexpr double tells_apart = 1e-6;  // relative

oracle::Known known_of(const Graph& graph, uint64_t seed) {
  oracle::Known out;
  for (ValueId id : graph.leaves()) out.emplace(id, drawn_leaf(graph, id, seed));
  return out;
}

double largest_of(DType dtype) { return dtype == DType::f16 ? 65504 : 3e38; }

double relative_difference(const oracle::Tensor& a, const oracle::Tensor& b) {
  if (a.shape() != b.shape() || !a.floating() || !b.floating()) return INFINITY;
  double difference = 0, size = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

Rejection no(Filter filter, std::string reason) { return {filter, std::move(reason)}; }

}  // namespace

std::string_view name(Filter filter) { return texts[static_cast<size_t>(filter)].name; }
std::string_view why(Filter filter) { return texts[static_cast<size_t>(filter)].why; }

const std::vector<NamedSketch>& kernelbench_sketches() {
  static const std::vector<NamedSketch> all = [] {
    auto read = read_sketches(embedded_kernelbench_sketches);
    require(static_cast<bool>(read), "the sketches that are part of the program can be read");
    return *std::move(read);
  }();
  return all;
}

std::optional<Rejection> Filters::reject_random(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.op == Op::random) return no(Filter::random, "draws random numbers");
  return std::nullopt;
}

std::optional<Rejection> Filters::reject_floor(const Graph& graph) const {
  const Floor floor = floor_of(graph, cost(graph), options_.gpu);
  const double seconds = std::max(floor.memory, floor.compute);  // a launch is in every task
  if (seconds < options_.least_seconds || seconds > options_.most_seconds)
    return no(Filter::floor_time, format("its floor is {}", seconds_text(seconds)));
  return std::nullopt;
}

std::optional<Rejection> Filters::reject_duplicate(const Graph& graph) {
  if (known_.insert(canonical_hash(graph)).second) return std::nullopt;
  return no(Filter::duplicate, "there is one like it");
}

std::optional<Rejection> Filters::reject_similar(const Graph& graph) const {
  const Nearest nearest =
      nearest_of(sketch_of(graph), options_.benchmark ? *options_.benchmark : kernelbench_sketches());
  if (nearest.similarity <= options_.most_similar) return std::nullopt;
  return no(Filter::benchmark, format("{:.2f} like {}", nearest.similarity, nearest.name));
}

std::optional<Rejection> Filters::reject_behaviour(const Graph& graph) {
  auto evaluated = [&](oracle::Known known) {
    return oracle::evaluate(graph, std::move(known), graph.outputs);
  };
  const oracle::Known known = known_of(graph, 1);
  auto outputs = evaluated(known);
  if (!outputs) return no(Filter::oracle, outputs.error().message);
  for (const oracle::Tensor& output : *outputs) {
    if (!output.floating()) continue;
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < output.elements(); ++i) {
      const double value = output.data<double>()[i];
      if (!std::isfinite(value) || std::abs(value) > largest_of(output.dtype()))
        return no(Filter::not_finite, "an output is NaN, infinite or out of range");
      low = std::min(low, value), high = std::max(high, value);
    }
    if (output.elements() > 1 && high - low <= tells_apart * std::max(std::abs(low), std::abs(high)))
      return no(Filter::constant, "all elements of an output are the same");
  }
  for (ValueId input : graph.inputs()) {
    oracle::Known changed = known;
    changed.insert_or_assign(input, drawn_leaf(graph, input, 2));
    auto others = evaluated(std::move(changed));
    if (!others) return no(Filter::oracle, others.error().message);
    double change = 0;
    for (size_t i = 0; i < outputs->size(); ++i)
      change = std::max(change, relative_difference((*others)[i], (*outputs)[i]));
    if (change <= tells_apart)
      return no(Filter::insensitive, format("the output doesn't depend on {}", graph[input].name));
  }
  return std::nullopt;
}

std::optional<Rejection> Filters::reject_in_pytorch(const Composed& miniature) const {
  if (!options_.exporter) return std::nullopt;
  auto scratch = ScratchFolder::create("stitch-synthesis");
  if (!scratch) return no(Filter::not_in_pytorch, scratch.error().message);
  const fs::path file = scratch->path() / "task.py";
  if (auto written = write_file(file, miniature.python); !written)
    return no(Filter::not_in_pytorch, written.error().message);
  auto imported =
      import_task(*options_.exporter,
                  {.task = file, .out = scratch->path() / "graph", .class_name = {}, .weights = false});
  if (!imported) return no(Filter::not_in_pytorch, imported.error().message);
  // The same numbers for what has the same key: the graph of the text and the one that was composed beside
  // it.
  const Graph &theirs = imported->graph, &ours = miniature.graph;
  oracle::Known known_ours = known_of(ours, 3), known_theirs;
  const std::vector<ValueId> inputs = ours.inputs(), their_inputs = theirs.inputs();
  if (inputs.size() != their_inputs.size()) return no(Filter::disagrees, "it takes other inputs");
  for (ValueId id : theirs.leaves()) {
    const auto input = std::ranges::find(their_inputs, id);
    ValueId twin = ValueId::none;
    if (input != their_inputs.end())
      twin = inputs[static_cast<size_t>(input - their_inputs.begin())];
    else
      for (ValueId each : ours.leaves())
        if (ours[each].has_data() && ours[each].data == theirs[id].data) twin = each;
    if (twin != ValueId::none && ours.type(twin).shape == theirs.type(id).shape)
      known_theirs.emplace(id, known_ours.at(twin));
    else
      known_theirs.emplace(id, drawn_leaf(theirs, id, 3));
  }
  auto a = oracle::evaluate(ours, std::move(known_ours), ours.outputs);
  auto b = oracle::evaluate(theirs, std::move(known_theirs), theirs.outputs);
  if (!a || !b || a->size() != b->size()) return no(Filter::disagrees, "the outputs can't be compared");
  for (size_t i = 0; i < a->size(); ++i)
    if (const double difference = relative_difference((*a)[i], (*b)[i]); !(difference < 1e-6))
      return no(Filter::disagrees, format("outputs differ by {:.2g}", difference));
  return std::nullopt;
}

std::optional<Rejection> Filters::reject(const Composed& full, const Composed& miniature) {
  if (auto out = reject_random(full.graph)) return out;
  if (auto out = reject_floor(full.graph)) return out;
  if (auto out = reject_duplicate(full.graph)) return out;
  if (auto out = reject_similar(full.graph)) return out;
  if (auto out = reject_behaviour(miniature.graph)) return out;
  return reject_in_pytorch(miniature);
}

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
