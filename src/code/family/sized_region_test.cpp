// Regions that call for one code at all sizes: decisions by how much there is are made at the plan's.
#include "code/family/sized_region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/testdata/must.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/family/variants.h"
#include "code/write_program.h"
#include "gpu/gpu_spec.h"
#include "graph/text.h"
#include "plan/buckets.h"
#include "plan/document/document.h"
#include "plan/steps.h"

namespace stitch::code {
namespace {

// N in the text stands for the batch, from 1 to 64.
std::shared_ptr<const Instances> instances_of(const std::string& text) {
  auto graph_at = [&](int64_t batch) {
    return must(parse_graph(join(split(text, 'N'), std::to_string(batch))));
  };
  auto out = std::make_shared<Instances>();
  out->dimensions = {{"batch", 1, 64, 1, {{0, 0}}}};
  out->example = {{"batch", 16}};
  for (const Sizes& sizes : must(instance_sizes(out->dimensions, out->example)))
    out->all.push_back({sizes, graph_at(sizes.at("batch"))});
  out->largest = {{{"batch", 64}}, graph_at(64)};
  return out;
}

void expect_one_code(const std::string& text) {
  const auto instances = instances_of(text);
  const GpuSpec gpu = *find_gpu("H200");
  plan::Context context(instances->all[0].graph, gpu, Numerics::standard);
  context.instances = instances;
  const plan::BestSteps best =
      must(plan::best_plan_of_steps(context, catalogue(), [](const plan::StepRule&) { return true; }));
  for (const plan::Region& region : best.plan.regions) {
    auto writing =
        writing_for_all_sizes(dynamic_cast<const Technique&>(*region.technique), context, best.plan, region);
    EXPECT_TRUE(writing) << (writing ? "" : writing.error().text());
  }
}

// A channel's factor is as many numbers as a batch has channels: a few at some sizes, many at others.
TEST(SizedRegion, BroadcastsOfAnySizeAreReadInOneWay) {
  for (const char* dtype : {"f16", "f32"})
    expect_one_code(join(split(R"(graph "gate"
input %x : T[N,480,14,14]
input %g : T[N,480,1,1]
%m = mul(%x, %g) : T[N,480,14,14]
output %m
end
)",
                               'T'),
                         dtype));
}

// Odd rows at some sizes, whole vectors at others: code without vectors is the same at all.
TEST(SizedRegion, RowsOfAnyLengthHaveOneCode) {
  expect_one_code(R"(graph "rows"
input %x : f32[N,32,30]
%y = slice(%x) dim=1 start=0 end=30 : f32[N,30,30]
%r = reshape(%y) shape=[N,900] : f32[N,900]
%e = exp(%r) : f32[N,900]
output %e
end
)");
}

// A product over 1 to 64 rows: few rows are another technique's.
TEST(Buckets, TechniquesDifferWhereTheCostModelSaysSo) {
  const auto instances = instances_of(R"(graph "mlp"
parameter %w : f32[4096,4096]
input %x : f32[N,4096]
%y = linear(%x, %w) : f32[N,4096]
%z = relu(%y) : f32[N,4096]
output %z
end
)");
  const GpuSpec gpu = *find_gpu("H200");
  plan::Context context(instances->all[0].graph, gpu, Numerics::standard);
  context.instances = instances;
  const plan::Plan plan = must(plan::make_plan(context, catalogue()));
  ASSERT_EQ(plan.regions.size(), 1u);
  ASSERT_FALSE(plan.regions[0].variants.empty());
  const plan::Variant& variant = plan.regions[0].variants[0];
  EXPECT_EQ(variant.measure, "batch");
  EXPECT_NE(variant.technique, plan.regions[0].technique);
  EXPECT_FALSE(plan::borders_of(plan).empty());
  EXPECT_EQ(plan.regions[0].at({{"batch", std::max<int64_t>(variant.least, 1)}}).technique,
            variant.technique);
  EXPECT_EQ(plan.regions[0].at(context.sizes()).technique, plan.regions[0].technique);

  const PackageContents contents = must(write_program(context, plan));
  EXPECT_EQ(contents.manifest.borders, plan::borders_of(plan));
  const std::string& source = contents.sources.at(contents.manifest.regions[0].file);
  const std::string name = name_of(plan.regions[0].name, variant);
  EXPECT_NE(source.find(format(") return enqueue_{}(x, ", name)), std::string::npos) << source;
  EXPECT_EQ(source.find("const Sizes& sizes, const Sizes& sizes"), std::string::npos);

  const Json document = plan::to_json(context, plan);
  const plan::Plan read = must(plan::read_plan(document, context, catalogue()));
  EXPECT_EQ(read.regions[0].variants, plan.regions[0].variants);
  EXPECT_EQ(document_text(plan::to_json(context, read)), document_text(document));
  Json without = document;
  without["regions"][0]["variants"][0]["measure"] = "rows";
  EXPECT_NE(plan::read_plan(without, context, catalogue()).error().message.find("no size 'rows'"),
            std::string::npos);
}

}  // namespace
}  // namespace stitch::code
