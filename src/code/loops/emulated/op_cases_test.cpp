// Every op case that PyTorch exported (see import/torch_cases_test.cpp): the whole graph as one region where
// a technique takes it, and every node as a region of its own where none does (STITCHCUDA_ALL_EXAMPLES=1:
// always).
#include <fstream>

#include "code/catalogue.h"
#include "code/loops/emulated/bench.h"
#include "graph/safetensors.h"
#include "import/aten_program.h"
#include "import/lowering.h"
#include "passes/pipeline.h"
#include "passes/testdata/sample_limits.h"

namespace stitch::code::loops {
namespace {

Result<Tensor> load(const Safetensors& file, const std::string& key) {
  const TensorBytes* tensor = file.find(key);
  if (!tensor) return user_error("case", format("no tensor '{}'", key));
  return Tensor::from_bytes(tensor->type.dtype, tensor->type.shape, tensor->bytes);
}

struct Loaded {
  Graph graph;
  oracle::Known known;
};

Result<Loaded> load_case(const fs::path& folder) {
  Loaded out;
  STITCH_TRY(std::string aten, read_file(folder / "aten.json"));
  STITCH_TRY(AtenProgram program, read_aten(aten));
  STITCH_TRY(out.graph, lower(program));
  run_pipeline(out.graph, cleanup_pipeline(), {.limits = sample_limits});
  STITCH_TRY(out.graph, parse_graph(print_graph(out.graph)));
  STITCH_TRY(Safetensors weights, Safetensors::open(folder / "weights.safetensors"));
  STITCH_TRY(Safetensors inputs, Safetensors::open(folder / "inputs.safetensors"));
  int index = 0;
  for (ValueId id : out.graph.inputs()) {
    STITCH_TRY(Tensor tensor, load(inputs, format("input.{}", index++)));
    // As memory of the graph's dtype holds them.
    DType dtype = out.graph.type(id).dtype;
    STITCH_TRY(tensor, Tensor::from_bytes(dtype, tensor.shape(), tensor.to_bytes(dtype)));
    out.known.emplace(id, std::move(tensor));
  }
  for (Role role : {Role::parameter, Role::buffer, Role::constant})
    for (ValueId id : out.graph.with_role(role)) {
      STITCH_TRY(Tensor tensor, load(weights, out.graph[id].data));
      DType dtype = out.graph.type(id).dtype;
      STITCH_TRY(tensor, Tensor::from_bytes(dtype, tensor.shape(), tensor.to_bytes(dtype)));
      out.known.emplace(id, std::move(tensor));
    }
  for (ValueId id : out.graph.with_role(Role::seed)) out.known.emplace(id, Tensor::of(DType::i64, {}, {42}));
  return out;
}

// Why loops refuse a product, a convolution, attention or a recurrence; they take every other node.
struct Refusal {
  const char* technique;
  const char* reason;  // part of it
};
const Refusal refusals_of_products[] = {
    {"loop", "is not computed element by element"},
    {"batch_norm", "is neither a reduction nor computed element by element"},
    {"row", "is neither a reduction nor computed element by element"},
    {"scan", "there is no scan"},
    {"scatter", "is not computed element by element"},
    {"sort", "nothing is sorted"},
};

void expect_refused(const plan::Context& context, const plan::Region& region, const std::string& label) {
  for (const Refusal& each : refusals_of_products) {
    auto accepted = catalogue().find(each.technique)->accepts(context, region);
    ASSERT_FALSE(accepted) << label << " by " << each.technique;
    EXPECT_NE(accepted.error().message.find(each.reason), std::string::npos)
        << label << " by " << each.technique << ": " << accepted.error().message;
  }
}

bool is_product(const Graph& graph, const Node& node) {
  return plan::kind_of(graph, {.nodes = {static_cast<int32_t>(&node - graph.nodes.data())}}) !=
         plan::Kind::loop;
}

// Nodes of a kind get the same code: the same op on the same types, some of them constants.
std::string kind_of_node(const Graph& graph, const Node& node) {
  std::string out(info(node.op).name);
  for (const auto& [key, value] : node.attributes) out += format(" {}={}", key, text(value));
  for (const auto* values : {&node.operands, &node.results})
    for (ValueId id : *values)
      out += id == ValueId::none
                 ? " none"
                 : format(" {}{}@{}", text(graph.type(id)), graph[id].has_data() ? " constant" : "",
                          std::ranges::find(*values, id) - values->begin());
  return out;
}

class OpCases : public testing::TestWithParam<const char*> {};

TEST_P(OpCases, RegionsAgreeWithTheOracle) {
  const char* told = std::getenv("STITCHCUDA_CASES");
  fs::path root = told ? told : STITCH_BINARY_DIR "/../cases";
  std::error_code ec;
  if (!fs::is_directory(root, ec)) GTEST_SKIP() << "no cases in " << root;
  const char* only = std::getenv("STITCHCUDA_CASE");
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(std::string(GetParam()) + ".") && fs::exists(entry.path() / "case.json") &&
        (!only || name.find(only) != std::string::npos))
      folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  const bool every_node = std::getenv("STITCHCUDA_ALL_EXAMPLES") || only;
  Bench bench(GetParam());
  std::set<std::string> seen;
  for (const fs::path& folder : folders) {
    auto loaded = load_case(folder);
    ASSERT_TRUE(loaded) << folder << ": " << loaded.error().text();
    const Graph& graph = loaded->graph;
    std::string name = folder.filename().string();
    if (graph.nodes.empty()) continue;
    // An unrolled recurrence is no region that the Planner makes: 40,000 lines, more than a fiber's stack
    // holds.
    constexpr size_t most_nodes = 200;
    Result<void> whole = work_error("technique", "too long for one region");
    if (graph.nodes.size() <= most_nodes) whole = bench.add(name, graph, {}, loaded->known);
    const bool product =
        std::ranges::any_of(graph.nodes, [&](const Node& n) { return is_product(graph, n); });
    // Of several nodes some don't fit into one region; of one node there is nothing to take apart.
    if (product || graph.nodes.size() == 1) {
      EXPECT_EQ(static_cast<bool>(whole), !product) << name;
    }
    if (!whole) {
      EXPECT_EQ(whole.error().code, "technique") << name << ": " << whole.error().text();
    }
    if (whole && (graph.nodes.size() == 1 || !every_node)) continue;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (!seen.insert(kind_of_node(graph, graph.nodes[n])).second) continue;
      auto single = bench.add(format("{} node {}", name, n), graph, {static_cast<int32_t>(n)}, loaded->known);
      EXPECT_EQ(static_cast<bool>(single), !is_product(graph, graph.nodes[n]))
          << name << " node " << n << (single ? "" : ": " + single.error().text());
      if (!single) {
        plan::Region region{.nodes = {static_cast<int32_t>(n)}};
        complete_region(graph, region);
        expect_refused({graph, h200(), Numerics::standard}, region, format("{} node {}", name, n));
      }
    }
  }
  std::printf("%zu regions of %zu cases\n", bench.size(), folders.size());
  for (const auto& [technique, count] : bench.techniques) std::printf("%6d %s\n", count, technique.c_str());
  bench.run();
}

// Neighbouring nodes of small models as regions: as many as a technique takes, up to a dozen.
// A minute: asked for by name or with all examples. Regions of whole models are judged in agents/, too.
TEST(ModelCases, FusedRegionsAgreeWithTheOracle) {
  if (!std::getenv("STITCHCUDA_ALL_EXAMPLES") && !std::getenv("STITCHCUDA_CASE"))
    GTEST_SKIP() << "STITCHCUDA_ALL_EXAMPLES=1 runs it";
  const char* told = std::getenv("STITCHCUDA_CASES");
  fs::path root = told ? told : STITCH_BINARY_DIR "/../cases";
  std::error_code ec;
  if (!fs::is_directory(root, ec)) GTEST_SKIP() << "no cases in " << root;
  const char* only = std::getenv("STITCHCUDA_CASE");
  Bench bench("models");
  std::set<std::string> seen;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root)) folders.push_back(entry.path());
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) {
    std::string name = folder.filename().string();
    if (name.starts_with("ops_") || !fs::exists(folder / "case.json") ||
        (only && name.find(only) == std::string::npos))
      continue;
    auto loaded = load_case(folder);
    ASSERT_TRUE(loaded) << folder << ": " << loaded.error().text();
    const Graph& graph = loaded->graph;
    int64_t largest = 0;
    for (const Value& value : graph.values) largest = std::max(largest, value.type.elements());
    if (largest > 400'000 || graph.nodes.size() > 1000) continue;
    std::vector<ValueId> wanted;
    for (const Node& node : graph.nodes)
      wanted.insert(wanted.end(), node.results.begin(), node.results.end());
    auto values = oracle::evaluate(graph, loaded->known, wanted);
    ASSERT_TRUE(values) << name << ": " << values.error().text();
    oracle::Known known = loaded->known;
    for (size_t i = 0; i < wanted.size(); ++i) known.emplace(wanted[i], (*values)[i]);
    for (size_t begin = 0; begin < graph.nodes.size();) {
      plan::Region region;
      std::string signature;
      size_t end = begin;
      for (; end < graph.nodes.size() && end < begin + 12; ++end) {
        plan::Region next;
        next.nodes = region.nodes;
        next.nodes.push_back(static_cast<int32_t>(end));
        complete_region(graph, next);
        if (!classify({graph, h200(), Numerics::standard}, next)) break;
        region = next;
        signature +=
            format("{} {};", info(graph.nodes[end].op).name, text(graph.type(graph.nodes[end].results[0])));
      }
      begin = std::max(end, begin + 1);
      if (region.nodes.empty() || !seen.insert(signature).second) continue;
      auto added = bench.add(format("{} from node {}", name, region.nodes[0]), graph, region.nodes, known);
      EXPECT_TRUE(added) << name << ": " << added.error().text();
    }
  }
  std::printf("%zu regions\n", bench.size());
  for (const auto& [technique, count] : bench.techniques) std::printf("%6d %s\n", count, technique.c_str());
  bench.run();
}

// ops_complex and ops_sampling are long programs of ops that the others hold: minutes of compiling for
// nothing.
INSTANTIATE_TEST_SUITE_P(Ops, OpCases,
                         testing::Values("ops_broadcast", "ops_cast", "ops_create", "ops_edges", "ops_gather",
                                         "ops_groups", "ops_inplace", "ops_linalg", "ops_norm", "ops_pad",
                                         "ops_pointwise", "ops_pool", "ops_reduce", "ops_resize",
                                         "ops_rope_and_masks", "ops_scan", "ops_softmax_and_loss", "ops_sort",
                                         "ops_view"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace stitch::code::loops
