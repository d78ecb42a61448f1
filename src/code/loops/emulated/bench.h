// For tests: compiles regions of small graphs for the emulated GPU, runs them on the oracle's inputs and
// compares with its outputs.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/file.h"
#include "base/text.h"
#include "build/compile_emulated/compile.h"
#include "code/loops/techniques.h"
#include "code/names.h"
#include "code/test_memory.h"
#include "graph/text.h"
#include "oracle/interpreter.h"
#include "stitch_emulated.h"

namespace stitch::code::loops {

using oracle::Tensor;

// One region and its expected results.
struct Case {
  std::string label;
  Graph graph;
  plan::Region region;
  oracle::Known known;           // every leaf of the graph, perhaps more
  std::vector<Tensor> expected;  // in the order of region.writes
  std::vector<Place> reads, weights, writes;
  std::vector<Tensor> given;  // reads, then weights
  RegionCode code;
  double tolerance = 1e-5;
};

inline bool made_inside(const Graph& graph, const plan::Region& region, ValueId id) {
  for (int32_t n : region.nodes)
    if (std::ranges::find(graph.node(n).results, id) != graph.node(n).results.end()) return true;
  return false;
}

// Derives a region's reads and writes: what outputs, updates or other nodes need is written.
inline void complete_region(const Graph& graph, plan::Region& region) {
  std::set<int32_t> inside(region.nodes.begin(), region.nodes.end());
  auto uses = users(graph);
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    for (ValueId id : node.operands)
      if (id != ValueId::none && !made_inside(graph, region, id) && !graph[id].has_data() &&
          std::ranges::find(region.reads, id) == region.reads.end())
        region.reads.push_back(id);
    for (ValueId id : node.results) {
      bool outside = std::ranges::find(graph.outputs, id) != graph.outputs.end();
      for (const Update& update : graph.updates) outside |= update.value == id;
      for (int32_t user : uses[index_of(id)]) outside |= !inside.contains(user);
      if (outside) region.writes.push_back(id);
    }
  }
}

// Random numbers of a type; integers in [0, range).
inline Tensor draw(const TensorType& type, uint64_t seed, double range = 5) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(type.elements()));
  for (double& value : values) {
    value = normal(generator);
    if (type.dtype == DType::boolean)
      value = value > 0;
    else if (!is_floating(type.dtype))
      value = std::floor(std::fmod(std::fabs(value) * 977, range));
  }
  Tensor exact = Tensor::of(type.dtype, type.shape, values);
  // Rounded to the stored type.
  return *Tensor::from_bytes(type.dtype, type.shape, exact.to_bytes());
}

// The first difference; empty: equal.
inline std::string difference(const Tensor& got, const Tensor& expected, double tolerance) {
  if (!expected.floating()) {
    if (got.floating()) return "floats instead of integers";
    for (int64_t i = 0; i < expected.elements(); ++i)
      if (got.data<int64_t>()[i] != expected.data<int64_t>()[i])
        return format("element {} is {}, not {}", i, got.data<int64_t>()[i], expected.data<int64_t>()[i]);
    return {};
  }
  double error = 0, norm = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    double a = got.data<double>()[i], b = expected.data<double>()[i];
    if ((std::isnan(a) && std::isnan(b)) || (std::isinf(b) && a == b)) continue;
    if (std::isinf(a) && std::fabs(b) > 3.4e38) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return format("element {} is {}, not {}", i, a, b);
    error += (a - b) * (a - b);
    norm += b * b;
  }
  double noise = 1e-7 * std::sqrt(static_cast<double>(std::max<int64_t>(expected.elements(), 1)));
  if (std::sqrt(error) <= noise) return {};
  double relative = norm > 0 ? std::sqrt(error / norm) : 1;
  return relative <= tolerance ? "" : format("relative error {:.2e}", relative);
}

inline const GpuSpec& h200() {
  static const GpuSpec gpu = *find_gpu("H200");
  return gpu;
}

// The named technique, or the first that accepts the region.
inline Result<const Technique*> technique_named(const plan::Context& context, const plan::Region& region,
                                                std::string_view name) {
  if (name.empty()) return classify(context, region);
  for (const Technique* each : {&loop(), &batch_norm(), &row(), &scan(), &scatter(), &sort()})
    if (each->name() == name) return each;
  return work_error("test", format("no technique {}", name));
}

// A suite: cases are added, compiled together, then run.
class Bench {
 public:
  explicit Bench(std::string name) : name_(std::move(name)) {}

  // The whole graph as one region, or the given nodes; by default with the technique of classify().
  Result<void> add(std::string label, Graph graph, std::vector<int32_t> nodes = {}, oracle::Known known = {},
                   const Layouts& layouts = {}, std::string_view technique = {},
                   std::map<std::string, int64_t> choices = {}) {
    Case made{std::move(label), std::move(graph)};
    const Graph& g = made.graph;
    if (nodes.empty())
      for (size_t i = 0; i < g.nodes.size(); ++i) nodes.push_back(static_cast<int32_t>(i));
    made.region.nodes = nodes;
    made.region.name = format("{}_{}", name_, cases_.size());
    complete_region(g, made.region);
    const plan::Context context(g, h200(), Numerics::standard);
    STITCH_TRY(const Technique* chosen, technique_named(context, made.region, technique));
    made.region.technique = chosen;
    made.region.choices = std::move(choices);
    uint64_t seed = 17 * (cases_.size() + 1);
    made.known = std::move(known);
    for (ValueId id : g.leaves())
      if (!made.known.contains(id)) made.known.emplace(id, draw(g.type(id), seed++));
    // Inputs and outputs of the region, by the oracle.
    std::vector<ValueId> weights;
    for (int32_t n : nodes)
      for (ValueId id : g.node(n).operands)
        if (id != ValueId::none && g[id].has_data() && std::ranges::find(weights, id) == weights.end())
          weights.push_back(id);
    std::vector<ValueId> wanted = made.region.reads;
    wanted.insert(wanted.end(), weights.begin(), weights.end());
    STITCH_TRY(std::vector<Tensor> read, oracle::evaluate(g, made.known, wanted));
    oracle::Known from_reads;
    Names names;
    auto pointer = [&](ValueId id) { return names.unique(g[id].name); };
    for (size_t i = 0; i < wanted.size(); ++i) {
      bool weight = i >= made.region.reads.size();
      Place place = placed(g, wanted[i], weight ? Layouts{} : layouts, pointer(wanted[i]));
      // As stored in memory.
      Tensor seen = taken_back(place, laid_out(read[i], place).data());
      if (is_floating(seen.dtype())) seen = seen.labelled(g.type(wanted[i]).dtype);
      made.given.push_back(seen);
      from_reads.emplace(wanted[i], seen);
      (weight ? made.weights : made.reads).push_back(std::move(place));
    }
    for (ValueId id : made.region.writes) made.writes.push_back(placed(g, id, layouts, pointer(id)));
    STITCH_TRY(made.expected, oracle::evaluate(g, from_reads, made.region.writes));
    for (const Place& place : made.writes) {
      if (place.dtype == DType::f16) made.tolerance = std::max(made.tolerance, 1e-3);
      if (place.dtype == DType::bf16) made.tolerance = std::max(made.tolerance, 8e-3);
    }
    RegionRequest request{context, made.region, made.region.name, made.reads, made.weights, made.writes};
    STITCH_TRY(made.code, chosen->write(request));
    ++techniques[std::string(chosen->name())];
    cases_.push_back(std::move(made));
    return {};
  }

  size_t size() const { return cases_.size(); }
  Case& last() { return cases_.back(); }
  std::map<std::string, int> techniques;

  // Compiles in several sources, to limit compile time, and runs everything.
  void run() {
    const size_t part = 60;
    for (size_t begin = 0; begin < cases_.size(); begin += part)
      run_part(begin, std::min(begin + part, cases_.size()));
  }

 private:
  void run_part(size_t begin, size_t end) {
    std::string source;
    std::set<std::string> includes;
    for (size_t i = begin; i < end; ++i)
      for (std::string_view line : split(cases_[i].code.includes, '\n'))
        if (!line.empty()) includes.insert(std::string(line));
    for (const std::string& line : includes) source += line + "\n";
    for (size_t i = begin; i < end; ++i) {
      const Case& each = cases_[i];
      source += format("\n// {}\n{}\n", each.label, each.code.source);
      source += format(
          "extern \"C\" int run_{}(void** pointers, void* workspace) {{\n  (void)workspace;\n  "
          "(void)pointers;\n  int status = 0;\n",
          i);
      auto call = [&](const std::string& function, const std::vector<std::string>& arguments) {
        source += format("  if (status == 0) status = {}(", function);
        for (const std::string& argument : arguments) source += pass(each, argument, i) + ", ";
        source += "nullptr);\n";
      };
      auto fill = [&](const std::string& name, int64_t bytes, const PackCall& make) {
        source += format("  void* {0} = nullptr;\n  cudaMalloc(&{0}, {1});\n", name, bytes);
        call(make.function, make.arguments);
      };
      for (const Prepared& prepared : each.code.prepared) fill(prepared.name, prepared.bytes, prepared.make);
      for (const Packed& packed : each.code.packed) fill(packed.name, packed.elements, *packed.fill);
      call("enqueue_" + each.region.name, each.code.arguments);
      source += "  if (status == 0) status = cudaDeviceSynchronize();\n";
      for (const Prepared& prepared : each.code.prepared)
        source += format("  cudaFree({});\n", prepared.name);
      for (const Packed& packed : each.code.packed) source += format("  cudaFree({});\n", packed.name);
      source += "  return status;\n}\n";
    }
    fs::path folder = fs::path(STITCH_BINARY_DIR) / "code_device";
    fs::create_directories(folder);
    fs::path file = folder / format("{}_{}.cu", name_, begin),
             library = folder / format("{}_{}.so", name_, begin);
    ASSERT_TRUE(write_file(file, source));
    emulated::CompileOptions options;
    options.include_dirs = {fs::path(STITCH_SOURCE_DIR) / "src/program/include"};
    options.optimise = false;
    options.time_limit = std::chrono::milliseconds(600'000);
    auto built = emulated::compile_emulated({file}, library, options);
    ASSERT_TRUE(built) << built.error().text().substr(0, 4000);
    void* handle = dlopen(built->c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
    for (size_t i = begin; i < end; ++i) {
      auto run = reinterpret_cast<int (*)(void**, void*)>(dlsym(handle, format("run_{}", i).c_str()));
      ASSERT_TRUE(run);
      for (const char* order : {"forward", "reverse"}) check(cases_[i], run, order, false);
      check(cases_[i], run, "forward", true);
    }
  }

  // Settings rotate through their values from case to case.
  std::string pass(const Case& each, const std::string& argument, size_t turn) const {
    if (argument == "workspace") return "workspace";
    auto is_argument = [&](const auto& memory) { return memory.name == argument; };
    if (std::ranges::any_of(each.code.prepared, is_argument) ||
        std::ranges::any_of(each.code.packed, is_argument))
      return argument;
    for (const Setting& setting : each.code.settings)
      if (setting.variable == argument) return std::to_string(setting.values[turn % setting.values.size()]);
    size_t index = 0;
    for (const auto* places : {&each.reads, &each.weights, &each.writes})
      for (const Place& place : *places) {
        if (place.pointer == argument)
          return format("static_cast<{}*>(pointers[{}])", element_type(place.dtype), index);
        ++index;
      }
    return "missing_" + argument;
  }

  void check(const Case& each, int (*run)(void**, void*), const char* order, bool misaligned) {
    stitch_emulated_set_order(order);
    std::vector<Memory> memory;
    std::vector<void*> pointers;
    for (const auto* places : {&each.reads, &each.weights, &each.writes})
      for (const Place& place : *places) {
        memory.emplace_back(place, misaligned);
        if (pointers.size() < each.given.size()) memory.back().write(each.given[pointers.size()]);
        pointers.push_back(memory.back().pointer());
      }
    void* workspace = nullptr;
    EXPECT_EQ(cudaMalloc(&workspace, static_cast<size_t>(each.code.workspace_bytes) + 1), cudaSuccess);
    int status = run(pointers.data(), workspace);
    EXPECT_EQ(status, 0) << each.label << ": " << stitch_emulated_last_report();
    EXPECT_STREQ(stitch_emulated_check_memory(), "") << each.label;
    if (status == 0)
      for (size_t w = 0; w < each.writes.size(); ++w) {
        Tensor got = memory[each.given.size() + w].read();
        std::string wrong = difference(got, each.expected[w], each.tolerance);
        EXPECT_EQ(wrong, "") << each.label << " (" << each.region.technique->name() << ", " << order
                             << ", misaligned by " << misaligned
                             << "): " << each.graph[each.writes[w].value].name << "\n"
                             << print_graph(each.graph).substr(0, 2000) << "\n"
                             << each.code.source.substr(0, 6000);
      }
    cudaFree(workspace);
    memory.clear();
    if (status != 0) cudaDeviceReset();
  }

  std::string name_;
  std::vector<Case> cases_;
};

}  // namespace stitch::code::loops
