// What the Planner makes of products.
#include <gtest/gtest.h>

#include <algorithm>

#include "code/write_program.h"
#include "plan/choose.h"
#include "plan/cost/estimate.h"
#include "plan/plain_plan.h"
#include "plan/regions/fusion.h"
#include "plan/regions/layouts.h"
#include "plan/steps.h"
#include "plan/testdata/planned.h"

namespace stitch {

// Products bound by arithmetic go to tensor cores; their transposed weight is read where it lies, and the
// constant behind them is a number in the code.
TEST(Planning, LargeProductsAreSplit) {
  EXPECT_EQ(planned(R"(graph "gemm"
parameter %w : f32[8192,8192]
input %x : f32[1024,8192]
%t = permute(%w) dims=[1,0] : f32[8192,8192]
%y = matmul(%x, %t) : f32[1024,8192]
%two = full() shape=[] dtype=f32 value=2.0 : f32[]
%z = div(%y, %two) : f32[1024,8192]
output %z
end
)"),
            (Lines{"matmul.split_int8: permute matmul full div"}));
}

// Its weight is read once whichever way it is multiplied, and splitting it makes it half as large again.
TEST(Planning, ProductsBoundByMemoryStay) {
  EXPECT_EQ(planned(R"(graph "thin"
parameter %w : f32[4096,4096]
input %x : f32[16,4096]
%y = linear(%x, %w) : f32[16,4096]
output %y
end
)"),
            (Lines{"matmul.cublaslt: linear"}));
  EXPECT_EQ(planned(R"(graph "vector"
input %a : f32[2048,65536]
input %b : f32[65536,1]
%y = matmul(%a, %b) : f32[2048,1]
output %y
end
)"),
            (Lines{"matmul.vector: matmul"}));
}

// Split in three parts a weight takes half as much memory again: only as long as that is little in all.
TEST(Planning, ManyWeightsAreSplitInTwo) {
  for (int layers : {1, 6}) {
    std::string text = "graph \"net\"\ninput %x0 : f32[1024,1536]\n";
    for (int i = 0; i < layers; ++i) text += format("parameter %w{} : f32[1536,1536]\n", i);
    for (int i = 0; i < layers; ++i)
      text += format("%y{0} = linear(%x{0}, %w{0}) : f32[1024,1536]\n%x{1} = relu(%y{0}) : f32[1024,1536]\n",
                     i, i + 1);
    Graph graph = graph_of(text + format("output %x{}\nend\n", layers));
    auto plan = plan::make_plan(context_of(graph), code::catalogue());
    ASSERT_TRUE(plan) << plan.error().text();
    const auto lean = std::ranges::count_if(
        plan->regions, [](const plan::Region& region) { return region.choice("form", 0) == 2; });
    EXPECT_EQ(lean, layers == 1 ? 0 : 5);  // 4.5 MiB each, of which 8 may be
  }
}

// Errors of deep products add up: each is summed in smaller pieces where there are several.
TEST(Planning, DeepChainsAreSummedInSmallerPieces) {
  auto deepest = [](const std::string& text) {
    Graph graph = graph_of(text);
    auto plan = plan::make_plan(context_of(graph), code::catalogue());
    if (!plan) throw Bug(plan.error().text());
    std::vector<int64_t> out;
    for (const plan::Region& region : plan->regions) {
      EXPECT_TRUE(region.technique->name().starts_with("matmul.split_")) << region.technique->name();
      out.push_back(region.choice("longest_sum", 0));
    }
    return out;
  };
  std::string start =
      "graph \"mlp\"\nparameter %w : f32[8192,8192]\ninput %x : f32[1024,8192]\n"
      "%a = linear(%x, %w) : f32[1024,8192]\n";
  EXPECT_EQ(deepest(start + "output %a\nend\n"), (std::vector<int64_t>{4096}));
  EXPECT_EQ(deepest(start + "%b = linear(%a, %w) : f32[1024,8192]\noutput %b\nend\n"),
            (std::vector<int64_t>{2048, 2048}));
  EXPECT_EQ(deepest(start + "parameter %c : f32[8192]\n%b = sub(%a, %c) : f32[1024,8192]\noutput %b\nend\n"),
            (std::vector<int64_t>{1024}))
      << "what a subtraction leaves has all of the error";
  std::string many = "graph \"deep\"\nparameter %w : f32[1024,1024]\ninput %x0 : f32[1024,1024]\n";
  for (int i = 0; i < 16; ++i) many += format("%x{} = linear(%x{}, %w) : f32[1024,1024]\n", i + 1, i);
  EXPECT_EQ(deepest(many + "output %x16\nend\n"), std::vector<int64_t>(16, 256));
  EXPECT_EQ(deepest(start + "%b = relu(%a) : f32[1024,8192]\n%c = linear(%b, %w) : f32[1024,8192]\n"
                            "%d = relu(%c) : f32[1024,8192]\n%e = linear(%d, %w) : f32[1024,8192]\n"
                            "output %e\nend\n"),
            (std::vector<int64_t>{2048, 2048, 2048}))
      << "rows that are centred have smaller sums";
}

// What was measured by several kinds of inputs needs no guess: the last layer is most of the output.
TEST(Planning, MeasuredSumsAreAsLongAsTheirErrorAllows) {
  std::string text = "graph \"deep\"\nparameter %w : f32[1024,1024]\ninput %x0 : f32[1024,1024]\n";
  plan::MeasuredErrors errors{.groups = {"output_0"}, .pytorch = {0.25}, .values = {}, .products = {}};
  double scale = 1e10;  // a relative change of 1e-5 is all that is allowed
  for (int i = 16; i > 0; --i, scale /= 4) errors.values[format("x{}", i)].groups = {{.scale = scale}};
  for (int i = 0; i < 16; ++i) text += format("%x{} = linear(%x{}, %w) : f32[1024,1024]\n", i + 1, i);
  Graph graph = graph_of(text + "output %x16\nend\n");
  auto longest = [&](int kinds) {
    errors.kinds = kinds;
    plan::Context context = context_of(graph);
    context.torch.errors = std::make_shared<const plan::MeasuredErrors>(errors);
    auto plan = plan::make_plan(context, code::catalogue());
    if (!plan) throw Bug(plan.error().text());
    return plan->regions[0].choice("longest_sum", 0);
  };
  EXPECT_EQ(longest(1), 256);
  EXPECT_EQ(longest(2), 4096);
}

// Where sums of that length were refused: shorter ones before none at all.
TEST(Planning, TensorCoresHaveASecondChance) {
  Graph graph = graph_of(
      "graph \"g\"\nparameter %w : f32[8192,8192]\ninput %x : f32[1024,8192]\n"
      "%a = linear(%x, %w) : f32[1024,8192]\noutput %a\nend\n");
  auto planned = [&](const std::set<std::string>& dropped) {
    auto plan = plan::plan_of_steps(context_of(graph), code::catalogue(), [&](const plan::StepRule& rule) {
      return !dropped.contains(std::string(rule.name));
    });
    if (!plan) throw Bug(plan.error().text());
    const plan::Region& region = plan->regions[0];
    return std::pair{std::string(region.technique->name()), region.choice("longest_sum", 0)};
  };
  EXPECT_EQ(planned({}), (std::pair{std::string("matmul.split_int8"), int64_t{4096}}));
  EXPECT_EQ(planned({"tensor cores"}), (std::pair{std::string("matmul.split_half"), int64_t{1024}}));
  EXPECT_EQ(planned({"tensor cores", "tensor cores in short sums"}),
            (std::pair{std::string("matmul.cublaslt"), int64_t{0}}));
}

// One fp16 product has TF32's bits at twice its rate, where the conversion is worth it; twice is not for
// other classes, and what is bound by its bytes stays.
TEST(Planning, ClassTf32MultipliesInFp16) {
  auto technique = [](Numerics numerics, int rows, int columns, int depth) {
    Graph graph =
        graph_of(format("graph \"g\"\nparameter %w : f32[{0},{1}]\ninput %x : f32[{2},{1}]\n"
                        "%a = linear(%x, %w) : f32[{2},{0}]\noutput %a\nend\n",
                        columns, depth, rows));
    auto plan = plan::make_plan(plan::Context(graph, h200(), numerics), code::catalogue());
    if (!plan) throw Bug(plan.error().text());
    return std::string(plan->regions.front().technique->name());
  };
  EXPECT_EQ(technique(Numerics::tf32, 1024, 8192, 8192), "matmul.scaled_half");
  EXPECT_EQ(technique(Numerics::tf32, 128, 16384, 4096), "matmul.scaled_half");
  EXPECT_EQ(technique(Numerics::tf32, 512, 512, 512), "matmul.cublaslt");
  EXPECT_EQ(technique(Numerics::half, 1024, 8192, 8192), "matmul.cublaslt");
  EXPECT_NE(technique(Numerics::standard, 1024, 8192, 8192), "matmul.scaled_half");
}

// What a layer leaves for the next one is rounded there anyway: in fp16 it is converted by who makes it.
TEST(Planning, ValuesThatOnlyProductsReadAreStoredInFp16) {
  const std::string text =
      "graph \"mlp\"\nparameter %w : f32[3072,768]\nparameter %v : f32[768,3072]\ninput %x : f32[4096,768]\n"
      "%n = layer_norm(%x) dims=1 : f32[4096,768]\n%a = linear(%n, %w) : f32[4096,3072]\n"
      "%g = gelu(%a) : f32[4096,3072]\n%b = linear(%g, %v) : f32[4096,768]\n%y = add(%b, ";
  auto stored = [&](const std::string& added, double f16, double largest) {
    Graph graph = graph_of(text + added + ") : f32[4096,768]\noutput %y\nend\n");
    const plan::RoundingShares shares{.tf32 = 0.01, .f16 = f16, .bf16 = 1, .scale = 0};
    const plan::MeasuredErrors::Place place{{shares}, largest};
    plan::MeasuredErrors errors{.groups = {"output_0"}, .pytorch = {0.25}, .values = {}, .products = {}};
    for (const char* value : {"n", "a", "g", "b", "y"}) errors.values[value] = place;
    for (const char* product : {"a", "b"}) errors.products[product].operands.assign(2, place);
    plan::Context context(graph, h200(), Numerics::tf32);
    context.torch.errors = std::make_shared<const plan::MeasuredErrors>(std::move(errors));
    auto plan = plan::make_plan(context, code::catalogue());
    if (!plan) throw Bug(plan.error().text());
    std::string out;
    for (const char* value : {"n", "g", "y"})
      if (plan->storage[index_of(graph.find(value))].dtype == DType::f16) out += value;
    return out;
  };
  EXPECT_EQ(stored("%x", 0.01, 10), "ng");
  EXPECT_EQ(stored("%n", 0.01, 10), "g") << "the sum would see it";
  EXPECT_EQ(stored("%x", 0.9, 10), "") << "numbers too small for fp16";
  EXPECT_EQ(stored("%x", 0.01, 1e5), "") << "or too large";
}

// Its errors are in proportion to a row's largest values: an allclose rejects the small results beside them.
TEST(Planning, Int8IsNotForProgramsComparedWithPyTorchsResults) {
  Graph graph = graph_of(
      "graph \"g\"\nparameter %w : f32[8192,8192]\ninput %x : f32[1024,8192]\n"
      "%a = linear(%x, %w) : f32[1024,8192]\noutput %a\nend\n");
  const plan::Context context(graph, h200(), Numerics::standard, plan::ReferenceFacts{.as_pytorch = true});
  auto plan = plan::make_plan(context, code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->regions.front().technique->name(), "matmul.split_half");
}

// Behind a ReLU rows are zeros and what a layer's sums have; other values may have outliers, which are
// multiplied twice.
TEST(Planning, Int8IsForInputsAndBoundedValues) {
  auto second = [](const std::string& between) {
    Graph graph = graph_of(
        "graph \"g\"\nparameter %w : f32[4096,4096]\ninput %x : f32[4096,4096]\n"
        "%a = linear(%x, %w) : f32[4096,4096]\n" +
        between + "%b = linear(%h, %w) : f32[4096,4096]\noutput %b\nend\n");
    auto plan = plan::make_plan(context_of(graph), code::catalogue());
    if (!plan) throw Bug(plan.error().text());
    EXPECT_EQ(plan->regions.front().technique->name(), "matmul.split_int8");
    return std::string(plan->regions.back().technique->name());
  };
  EXPECT_EQ(second("%h = relu(%a) : f32[4096,4096]\n"), "matmul.split_int8");
  EXPECT_EQ(second("%h = sigmoid(%a) : f32[4096,4096]\n"), "matmul.split_int8");
  EXPECT_EQ(second("%h = softmax(%a) dim=1 : f32[4096,4096]\n"), "matmul.split_half");
  EXPECT_EQ(second("%e = exp(%a) : f32[4096,4096]\n%h = mul(%e, %x) : f32[4096,4096]\n"),
            "matmul.split_half");
}

// Few rows: a weight's bytes, which sums in pieces read half as often again by products of fp16 alone.
TEST(Planning, Int8IsForFewRowsOfLargeWeights) {
  auto technique = [](int rows, const std::string& after) {
    Graph graph =
        graph_of(format("graph \"g\"\nparameter %w : f32[16384,16384]\nparameter %c : f32[]\n"
                        "input %x : f32[{0},16384]\n%a = linear(%x, %w) : f32[{0},16384]\n{1}end\n",
                        rows, after));
    auto plan = plan::make_plan(context_of(graph), code::catalogue());
    if (!plan) throw Bug(plan.error().text());
    return std::string(plan->regions.front().technique->name());
  };
  EXPECT_EQ(technique(128, "output %a\n"), "matmul.split_int8");
  EXPECT_EQ(technique(128, "%y = sub(%a, %c) : f32[128,16384]\noutput %y\n"), "matmul.split_int8");
  EXPECT_NE(technique(16, "output %a\n"), "matmul.split_int8");
}

// Of 2^31 elements and more: by columns, each piece counted in 32 bits.
TEST(Planning, Int8TakesLargeWeightsInPieces) {
  Graph graph = graph_of(
      "graph \"g\"\nparameter %w : f32[32768,32768]\ninput %x : f32[128,32768]\n"
      "%a = linear(%x, %w) : f32[128,32768]\noutput %a\nend\n");
  auto plan = plan::make_plan(context_of(graph), code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->regions[0].technique->name(), "matmul.split_int8");
  auto contents = code::write_program(context_of(graph), *plan);
  ASSERT_TRUE(contents) << contents.error().text();
  std::string all;
  for (const auto& [path, text] : contents->sources) all += text;
  EXPECT_NE(all.find("spec{128, 16384, 65536}"), std::string::npos);
  EXPECT_NE(all.find("spec.result_row_stride = 32768;"), std::string::npos);
  EXPECT_NE(all.find("+ 1073741824"), std::string::npos) << "of the weight's second half";
  EXPECT_NE(all.find("dense_result + 4210688"), std::string::npos) << "of the sums' second half";
}

// Noise of the operands is as large for small results as for large ones, unlike that of a rounded result.
TEST(Planning, NoiseOfOperandsIsNotThatOfTheResult) {
  Graph graph = graph_of(
      "graph \"g\"\nparameter %w : f32[8192,8192]\ninput %x : f32[1024,8192]\n"
      "%a = linear(%x, %w) : f32[1024,8192]\n%y = softmax(%a) dim=1 : f32[1024,8192]\noutput %y\nend\n");
  constexpr double noise = 3e-6 * 3e-6 / (2.2e-4 * 2.2e-4);
  auto technique = [&](double of_result, double of_operand) {
    plan::MeasuredErrors errors{.groups = {"output_0"}, .pytorch = {0.25}, .values = {}, .products = {}};
    errors.values["a"].groups = {{.f16 = of_result / noise}};
    if (of_operand > 0) errors.products["a"].operands.assign(2, {.groups = {{.f16 = of_operand / noise}}});
    plan::Context context = context_of(graph);
    context.torch.errors = std::make_shared<const plan::MeasuredErrors>(std::move(errors));
    auto plan = plan::make_plan(context, code::catalogue());
    if (!plan) throw Bug(plan.error().text());
    return std::string(plan->regions.front().technique->name());
  };
  EXPECT_EQ(technique(0.6, 0), "matmul.split_half");
  EXPECT_EQ(technique(0.6, 0.2), "matmul.split_int8");
  EXPECT_EQ(technique(0.1, 0.6), "matmul.split_half");
}

}  // namespace stitch
