// PyTorch's estimate beside a plan's: one cost model for both.
#include "plan/cost/pytorch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/cost/estimate.h"
#include "plan/document/document.h"
#include "plan/testdata/planned.h"

namespace stitch {

const char* const small_network = R"(graph "mlp"
parameter %w : f32[32,64]
parameter %b : f32[32]
input %x : f32[16,64]
%y = linear(%x, %w, %b) : f32[16,32]
%z = relu(%y) : f32[16,32]
%s = softmax(%z) dim=1 : f32[16,32]
output %s
end
)";

TEST(PyTorchEstimate, LaunchesAKernelForEachOperator) {
  const Graph graph = graph_of(small_network);
  const plan::PyTorchEstimate found = plan::estimate_pytorch(graph, h200(), Numerics::standard);
  ASSERT_EQ(found.operators.size(), 3u);
  EXPECT_GT(found.eager_graph, h200().launch_overhead + 3 * h200().kernel_overhead);
  EXPECT_LT(found.eager_graph, h200().launch_overhead + 3 * h200().kernel_overhead + 1e-6);
  EXPECT_GT(found.eager, 25e-6) << "the host dispatches three operators";
  EXPECT_EQ(to_json(found).size(), 2u);
}

// As a batch norm that a pass folded into a convolution leaves it.
TEST(PyTorchEstimate, CountsNothingThatDependsOnWeightsAlone) {
  const Graph graph = graph_of(R"(graph "folded"
parameter %w : f32[32,64]
parameter %scale : f32[32,1]
input %x : f32[16,64]
%scaled = mul(%w, %scale) : f32[32,64]
%y = linear(%x, %scaled) : f32[16,32]
output %y
end
)");
  const plan::PyTorchEstimate found = plan::estimate_pytorch(graph, h200(), Numerics::standard);
  ASSERT_EQ(found.operators.size(), 1u);
  EXPECT_EQ(found.operators[0].node, 1u);
}

TEST(PyTorchEstimate, LargeProductsRunAtTheLibrarysRate) {
  const Graph graph = graph_of(R"(graph "big"
parameter %w : f32[4096,4096]
input %x : f32[4096,4096]
%y = linear(%x, %w) : f32[4096,4096]
output %y
end
)");
  const double least = 2.0 * 4096 * 4096 * 4096 / h200().fp32_products;
  const auto exact = plan::estimate_pytorch(graph, h200(), Numerics::standard);
  EXPECT_NEAR(exact.eager_graph, least, 0.02 * least);
  EXPECT_LT(exact.eager, 1.02 * exact.eager_graph) << "the host is ahead of the device";
  EXPECT_LT(plan::estimate_pytorch(graph, h200(), Numerics::tf32).eager_graph, 0.3 * exact.eager_graph);
}

// What is said of regions adds up to what is said of the call.
TEST(PlanEstimates, RegionsAndTheLaunchAreTheCall) {
  const Graph graph = graph_of(small_network);
  const plan::Context context = context_of(graph);
  const auto plan = plan::make_plan(context, code::catalogue());
  ASSERT_TRUE(plan);
  const Json document = plan::to_json(context, *plan);
  double end = 0, sum = h200().launch_overhead;
  for (const Json& region : document["regions"]) {
    EXPECT_NEAR(region["estimated_start_seconds"].get<double>(), sum, 1e-12);
    sum += region["estimated_seconds"].get<double>();
    end = region["estimated_start_seconds"].get<double>() + region["estimated_seconds"].get<double>();
  }
  EXPECT_DOUBLE_EQ(document["estimated_seconds"].get<double>(), plan::estimate(context, *plan));
  EXPECT_NEAR(document["estimated_seconds"].get<double>(), end, 1e-12);
  EXPECT_GT(document["pytorch_estimated_seconds"]["eager"].get<double>(), end);
}

}  // namespace stitch
