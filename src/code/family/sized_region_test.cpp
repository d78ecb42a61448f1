// Regions that call for one code at all sizes: decisions by how much there is are made at the plan's.
#include "code/family/sized_region.h"

#include <gtest/gtest.h>

#include "base/testdata/must.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "gpu/gpu_spec.h"
#include "graph/text.h"
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
    auto fill =
        fill_for_all_sizes(dynamic_cast<const Technique&>(*region.technique), context, best.plan, region);
    EXPECT_TRUE(fill) << (fill ? "" : fill.error().text());
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

}  // namespace
}  // namespace stitch::code
