// Each step of the Planner on a small graph, with the Coder's own techniques:
// src/plan/testdata/NAME.graph.txt in, the plan before and after the step out (NAME.plan.txt). One decision
// of src/plan a file.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "plan/steps.h"

namespace stitch {
namespace {

struct Golden {
  const char* name;  // of the files
  const char* step;
};
void PrintTo(const Golden& one, std::ostream* out) { *out << one.name; }

// A region a line with its offer and choices, then the values that don't lie as the graph says.
std::string text_of(const Graph& graph, const plan::Plan& plan) {
  std::string out;
  for (const plan::Region& region : plan.regions) {
    std::vector<std::string> ops, settings;
    const plan::Offer& offer = region.offer;
    if (offer.arithmetic != plan::Arithmetic::by_class)
      settings.push_back(format(" {}", plan::name(offer.arithmetic)));
    if (offer.order != plan::Order::row_major) settings.push_back(format(" {}", plan::name(offer.order)));
    for (int32_t n : region.nodes) ops.emplace_back(info(graph.node(n).op).name);
    for (const auto& [name, value] : region.choices) settings.push_back(format(" {}={}", name, value));
    if (region.section > 0)
      settings.push_back(format(", branch {} of section {}", region.branch, region.section));
    out += format("  {}{}: {}\n", region.technique->name(), join(settings, ""), join(ops, " "));
  }
  for (size_t v = 0; v < plan.storage.size(); ++v) {
    const plan::Storage& storage = plan.storage[v];
    ValueId id = static_cast<ValueId>(v);
    if (storage.order.empty() && storage.dtype == graph.type(id).dtype) continue;
    out += format("  %{} lies as {}{}\n", graph[id].name, name(storage.dtype),
                  storage.order.empty() ? "" : format(" in the order [{}]", join(storage.order, ",")));
  }
  return out;
}

class GoldenPlan : public testing::TestWithParam<Golden> {};

TEST_P(GoldenPlan, TakesTheStep) {
  fs::path stem = fs::path(STITCH_SOURCE_DIR "/src/plan/testdata") / GetParam().name;
  auto before = read_file(stem.string() + ".graph.txt"), expected = read_file(stem.string() + ".plan.txt");
  ASSERT_TRUE(before);
  auto graph = parse_graph(*before);
  ASSERT_TRUE(graph) << graph.error().text();
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(*graph, gpu, Numerics::standard);
  auto plan = plan::first_plan(context, code::catalogue());
  ASSERT_TRUE(plan);
  bool alternative = std::string_view(GetParam().step) != "half storage";
  std::string got;
  for (const plan::StepRule& rule : plan::all_steps()) {
    const bool here = rule.name == GetParam().step;
    if (!here && rule.rounds && alternative) continue;  // one way of storing rules out the others
    if (here) got = "before\n" + text_of(*graph, *plan);
    plan = rule.apply(context, *std::move(plan), code::catalogue());
    ASSERT_TRUE(plan) << plan.error().text();
    auto checked = plan::check(*graph, *plan);
    ASSERT_TRUE(checked) << checked.error().text();
    if (here) break;
  }
  EXPECT_EQ(got + "after\n" + text_of(*graph, *plan), expected ? *expected : "");
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenPlan,
    testing::Values(Golden{"libraries", "libraries"}, Golden{"tensor_cores", "tensor cores"},
                    Golden{"views", "views"}, Golden{"epilogues", "epilogues"}, Golden{"loops", "loops"},
                    Golden{"half_storage", "half storage"},
                    Golden{"half_storage_before_last", "half storage before the last layers"},
                    Golden{"half_storage_beside_exact", "half storage beside exact layers"},
                    Golden{"channels_last", "channels last"}, Golden{"gates", "gates"},
                    Golden{"branches", "branches"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace stitch
