// Regions on the emulated GPU: each case is a graph, a technique and layouts. Many regions share one source,
// since compiling takes seconds; each is a function of it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "base/text.h"
#include "build/compile_emulated/compile.h"
#include "code/catalogue.h"
#include "code/names.h"
#include "code/test_memory.h"
#include "cuda_runtime.h"
#include "graph/text.h"
#include "oracle/interpreter.h"
#include "stitch_emulated.h"

namespace stitch::code {

struct Case {
  std::string name;
  std::string technique;
  std::string graph;  // as text, without the first line and `end`
  Numerics numerics = Numerics::standard;
  plan::Offer offer = {};
  std::map<std::string, int64_t> choices = {};
  int multiprocessors = 132;
  Layouts storage = {};
  double tolerance = 1e-5;
  // Numbers, which the code doesn't know: cases that differ in these alone are compiled once.
  double scale = 1;    // of the drawn inputs
  double shift = 0;    // added to them
  double outlier = 0;  // above 0: every 97th number is this or its negative
  double kept = 1;     // fraction of the inputs that isn't zero
  std::shared_ptr<const plan::Source> source = {};
};

inline bool same_code(const Case& a, const Case& b) {
  auto code = [](const Case& each) {
    return std::tie(each.technique, each.graph, each.numerics, each.offer, each.choices, each.multiprocessors,
                    each.storage, each.source);
  };
  return code(a) == code(b);
}

// Everything derived from a case.
struct PreparedCase {
  Graph graph;
  plan::Region region;
  RegionCode code;
  std::vector<Place> reads, weights, writes;
};

inline std::string c_name(std::string_view name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

inline Result<PreparedCase> prepare(const Case& test) {
  PreparedCase out;
  STITCH_TRY(out.graph, parse_graph(format("graph \"{}\"\n{}end\n", test.name, test.graph)));
  const Graph& graph = out.graph;
  out.region.name = test.name;
  out.region.technique = catalogue().find(test.technique);
  if (!out.region.technique) return user_error("technique", "there is no technique " + test.technique);
  out.region.offer = test.offer;
  out.region.choices = test.choices;
  out.region.source = test.source;
  for (size_t i = 0; i < graph.nodes.size(); ++i) out.region.nodes.push_back(static_cast<int32_t>(i));
  auto place_of = [&](ValueId id) { return placed(graph, id, test.storage, c_name(graph[id].name)); };
  std::set<ValueId> used;
  for (const Node& node : graph.nodes) used.insert(node.operands.begin(), node.operands.end());
  for (ValueId id : graph.leaves()) {
    if (!used.contains(id)) continue;
    if (graph[id].has_data()) {
      out.weights.push_back(place_of(id));
    } else {
      out.region.reads.push_back(id);
      out.reads.push_back(place_of(id));
    }
  }
  for (ValueId id : graph.outputs) {
    out.region.writes.push_back(id);
    out.writes.push_back(place_of(id));
  }
  GpuSpec gpu = *find_gpu("H200");
  gpu.sms = test.multiprocessors;
  const plan::Context context(graph, gpu, test.numerics);
  STITCH_CHECK(out.region.technique->accepts(context, out.region));
  RegionRequest request{context, out.region, test.name, out.reads, out.weights, out.writes};
  STITCH_TRY(out.code, technique_of(out.region).write(request));
  return out;
}

// The region's source and a minimal scaffold: packs weights, creates members, runs.
inline std::string source_of(const Case& test, const PreparedCase& prepared) {
  const RegionCode& code = prepared.code;
  std::string out = code.includes + code.declaration + "\n" + code.source + "\n";
  out += format("extern \"C\" int run_{}(void* const* places) {{\n", test.name);
  size_t next = 0;
  for (const auto* places : {&prepared.reads, &prepared.weights, &prepared.writes})
    for (const Place& place : *places) {
      bool written = places == &prepared.writes;
      out += format("  [[maybe_unused]] {0}{1}* {2} = static_cast<{0}{1}*>(places[{3}]);\n",
                    written ? "" : "const ", element_type(place.dtype), place.pointer, next++);
    }
  for (const std::string& library : code.libraries)
    out += library == "cudnn" ? "  stitch::Cudnn cudnn;\n  STITCH_OK_OR_RETURN(cudnn.create());\n"
                              : "  stitch::CublasLt cublas;\n  STITCH_OK_OR_RETURN(cublas.create());\n";
  for (const Setting& setting : code.settings)
    out += format("  const {} {}({});\n", setting.type, setting.variable, setting.value);
  for (const Packed& packed : code.packed) {
    out += format(
        "  stitch::Arena {0}_memory;\n  {1}* {0} = nullptr;\n"
        "  STITCH_OK_OR_RETURN({0}_memory.allocate({2} * sizeof({1})));\n"
        "  STITCH_OK_OR_RETURN({0}_memory.place(\"{0}\", 0, {2}, &{0}));\n",
        packed.name, packed.type, packed.elements);
    if (packed.fill)
      out += format("  STITCH_OK_OR_RETURN({}({}, nullptr));\n", packed.fill->function,
                    join(packed.fill->arguments, ", "));
  }
  for (const Member& member : code.members)
    out += format("  {} {};\n  {}\n", member.type, member.name, member.create);
  if (std::ranges::count(code.libraries, "cudnn") > 0) out += "  STITCH_OK_OR_RETURN(cudnn.settle());\n";
  if (code.workspace_bytes > 0)
    out += format(
        "  stitch::Arena arena;\n  char* workspace = nullptr;\n  STITCH_OK_OR_RETURN(arena.allocate({0}));\n"
        "  STITCH_OK_OR_RETURN(arena.place(\"workspace\", 0, {0}, &workspace));\n",
        code.workspace_bytes);
  out += format("  STITCH_OK_OR_RETURN(enqueue_{}({}{}nullptr));\n", test.name, join(code.arguments, ", "),
                code.arguments.empty() ? "" : ", ");
  return out + "  STITCH_CUDA(cudaDeviceSynchronize());\n  return STITCH_OK;\n}\n";
}

// Numbers that are exact in the storage type.
inline oracle::Tensor draw(const Place& place, DType dtype, double scale, uint64_t seed, double outlier = 0,
                           double shift = 0, double kept = 1) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> chance;
  std::vector<double> values(static_cast<size_t>(element_count(place.shape)));
  for (double& value : values) {
    value = normal(generator) * scale + shift;
    if (kept < 1 && chance(generator) >= kept) value = 0;
    if (outlier > 0 && (&value - values.data()) % 97 == 5) value = std::copysign(outlier, value);
    if (dtype == DType::boolean)
      value = value > -0.5;
    else if (!is_floating(dtype))
      value = std::round(value * 3);
  }
  oracle::Tensor stored = oracle::Tensor::of(place.dtype, place.shape, values);
  auto rounded = oracle::Tensor::from_bytes(place.dtype, place.shape, stored.to_bytes());
  return rounded->labelled(dtype);
}

// All cases of a file, compiled into one library once.
class Cases {
 public:
  explicit Cases(std::string name, std::vector<Case> cases)
      : name_(std::move(name)), cases_(std::move(cases)) {}

  const std::vector<Case>& all() const { return cases_; }

  void run(const Case& test) {
    load();
    const Case& compiled = first_with_code_of(test);
    auto prepared = prepare(compiled);
    ASSERT_TRUE(prepared) << prepared.error().text();
    ASSERT_TRUE(library_) << error_;
    auto function =
        reinterpret_cast<int (*)(void* const*)>(dlsym(library_, format("run_{}", compiled.name).c_str()));
    ASSERT_TRUE(function);
    auto last_error = reinterpret_cast<const char* (*)()>(dlsym(library_, "last_error_of_cases"));

    oracle::Known known;
    uint64_t seed = 1;
    for (const auto* places : {&prepared->reads, &prepared->weights})
      for (const Place& place : *places)
        known.emplace(place.value,
                      draw(place, prepared->graph.type(place.value).dtype, test.scale, seed++, test.outlier,
                           test.shift, places == &prepared->reads ? test.kept : 1.0));
    auto expected = oracle::evaluate(prepared->graph, known, prepared->graph.outputs);
    ASSERT_TRUE(expected) << expected.error().text();

    for (const char* order : {"forward", "reverse"})
      for (bool misaligned : {false, true}) {
        if (misaligned && order == std::string_view("reverse")) continue;
        stitch_emulated_set_order(order);
        std::vector<Memory> memory;
        std::vector<void*> pointers;
        for (const auto* places : {&prepared->reads, &prepared->weights, &prepared->writes})
          for (const Place& place : *places) {
            memory.emplace_back(place, misaligned && places != &prepared->weights);
            if (places != &prepared->writes) memory.back().write(known.at(place.value));
          }
        for (const Memory& each : memory) pointers.push_back(each.pointer());
        ASSERT_EQ(function(pointers.data()), 0) << last_error() << "\n"
                                                << stitch_emulated_last_report() << "\n"
                                                << prepared->code.source;
        EXPECT_STREQ(stitch_emulated_check_memory(), "");
        size_t first = prepared->reads.size() + prepared->weights.size();
        for (size_t i = 0; i < expected->size(); ++i)
          compare((*expected)[i], memory[first + i].read(), test, format("{} order, output {}", order, i));
      }
    stitch_emulated_set_order("forward");
  }

 private:
  static void compare(const oracle::Tensor& expected, const oracle::Tensor& got, const Case& test,
                      const std::string& what) {
    double error = 0, norm = 0;
    for (int64_t i = 0; i < expected.elements(); ++i) {
      auto number = [&](const oracle::Tensor& tensor) {
        return tensor.floating() ? tensor.data<double>()[i] : static_cast<double>(tensor.data<int64_t>()[i]);
      };
      double a = number(expected), b = number(got);
      ASSERT_FALSE(std::isnan(b) && !std::isnan(a)) << what << ": element " << i << " is NaN, not " << a;
      if (!std::isfinite(a)) {
        ASSERT_TRUE(a == b || std::isnan(a)) << what << ": element " << i << " is " << b << ", not " << a;
        continue;
      }
      error += (a - b) * (a - b);
      norm += a * a;
    }
    EXPECT_LE(std::sqrt(error), test.tolerance * std::sqrt(std::max(norm, 1e-30))) << what;
  }

  const Case& first_with_code_of(const Case& test) const {
    return *std::ranges::find_if(cases_, [&](const Case& each) { return same_code(each, test); });
  }

  void load() {
    if (library_ || !error_.empty()) return;
    std::string source =
        "#include \"stitch/runtime/arena.h\"\n"
        "#include \"stitch/runtime/cublaslt.h\"\n"
        "#include \"stitch/runtime/cudnn.h\"\n"
        "extern \"C\" const char* last_error_of_cases() { return stitch::last_error_text; }\n";
    for (const Case& test : cases_)
      if (&test == &first_with_code_of(test))
        if (auto prepared = prepare(test)) source += source_of(test, *prepared);
    fs::path file = fs::path(STITCH_BINARY_DIR) / (name_ + ".cu");
    if (auto written = write_file(file, source); !written) {
      error_ = written.error().text();
      return;
    }
    emulated::CompileOptions options;
    options.include_dirs = {fs::path(STITCH_SOURCE_DIR) / "src/program/include"};
    options.time_limit = std::chrono::minutes(10);
    options.optimise = name_ == "Conv_cases";  // these run longer than they compile
    auto library = emulated::compile_emulated({file}, fs::path(STITCH_BINARY_DIR) / (name_ + ".so"), options);
    if (!library) {
      error_ = library.error().text();
      return;
    }
    library_ = dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) error_ = dlerror();
  }

  std::string name_;
  std::vector<Case> cases_;
  void* library_ = nullptr;
  std::string error_;
};

// Every case as a test: PRODUCT_CASES(Matmul, matmul_cases()).
#define PRODUCT_CASES(suite, list)                                                                     \
  Cases& cases_of_##suite() {                                                                          \
    static auto* cases = new Cases(#suite "_cases", list);                                             \
    return *cases;                                                                                     \
  }                                                                                                    \
  class suite : public testing::TestWithParam<size_t> {};                                              \
  TEST_P(suite, AgreesWithTheOracle) { cases_of_##suite().run(cases_of_##suite().all()[GetParam()]); } \
  INSTANTIATE_TEST_SUITE_P(All, suite, testing::Range<size_t>(0, cases_of_##suite().all().size()),     \
                           [](const auto& each) { return cases_of_##suite().all()[each.param].name; })

}  // namespace stitch::code
