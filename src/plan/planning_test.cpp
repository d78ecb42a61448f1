// Graph in, plan out: what the Planner makes of small graphs with the Coder's own techniques.
#include <gtest/gtest.h>

#include "base/text.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "plan/choose.h"
#include "plan/estimate.h"
#include "plan/fusion.h"
#include "plan/layouts.h"
#include "plan/plain_plan.h"
#include "plan/steps.h"

namespace stitch {

namespace {

const GpuSpec& h200() {
  static const GpuSpec gpu = *find_gpu("H200");
  return gpu;
}

plan::Context context_of(const Graph& graph, Numerics numerics = Numerics::standard) {
  return {graph, h200(), numerics};
}

Graph graph_of(const std::string& text) {
  auto graph = parse_graph(text);
  if (!graph) throw Bug(graph.error().text());
  return *std::move(graph);
}

// "technique: op op" a region, in order.
std::vector<std::string> regions_of(const Graph& graph, const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const plan::Region& region : plan.regions) {
    std::vector<std::string> ops;
    for (int32_t n : region.nodes) ops.emplace_back(info(graph.nodes[static_cast<size_t>(n)].op).name);
    out.push_back(format("{}: {}", region.technique->name(), join(ops, " ")));
  }
  return out;
}

std::vector<std::string> planned(const std::string& text) {
  Graph graph = graph_of(text);
  auto plan = plan::make_plan(context_of(graph), code::catalogue());
  if (!plan) throw Bug(plan.error().text());
  return regions_of(graph, *plan);
}

using Lines = std::vector<std::string>;

}  // namespace

TEST(Planning, AnActivationGoesIntoItsProduct) {
  EXPECT_EQ(planned(R"(graph "mlp"
parameter %w : f32[32,64]
parameter %b : f32[32]
input %x : f32[16,64]
%y = linear(%x, %w, %b) : f32[16,32]
%z = relu(%y) : f32[16,32]
output %z
end
)"),
            (Lines{"matmul.cublaslt: linear relu"}));
}

// The text of program.cu, every step taken.
std::string program_of(const std::string& text) {
  Graph graph = graph_of(text);
  auto plan = plan::make_plan(context_of(graph), code::catalogue());
  if (!plan) throw Bug(plan.error().text());
  auto contents = code::write_program(context_of(graph), *plan);
  if (!contents) throw Bug(contents.error().text());
  return contents->sources.at("program.cu");
}

TEST(Planning, OneKernelNeedsNoGraph) {
  const std::string alone = "graph \"g\"\ninput %x : f32[16,64]\n%y = relu(%x) : f32[16,64]\n";
  EXPECT_EQ(program_of(alone + "output %y\nend\n").find("GraphCache"), std::string::npos);
  EXPECT_NE(
      program_of(alone + "parameter %w : f32[32,64]\n%z = linear(%y, %w) : f32[16,32]\noutput %z\nend\n")
          .find("GraphCache"),
      std::string::npos);
}

TEST(Planning, AChainIsOneKernel) {
  EXPECT_EQ(planned(R"(graph "chain"
input %x : f32[16,64]
%a = sigmoid(%x) : f32[16,64]
%b = mul(%a, %x) : f32[16,64]
%c = softmax(%b) dim=1 : f32[16,64]
%d = neg(%c) : f32[16,64]
output %d
end
)"),
            (Lines{"row: sigmoid mul softmax neg"}));
}

TEST(Planning, StackedStepsAreNotWrittenIntoEveryBranch) {
  auto steps = [](int count) {
    std::string text = "graph \"path\"\ninput %table : i64[4,16]\ninput %s0 : i64[4,1]\n", parts = "%s0";
    for (int k = 1; k <= count; ++k) {
      text += format("%s{} = gather(%table, %s{}) dim=1 : i64[4,1]\n", k, k - 1);
      parts += format(", %s{}", k);
    }
    return text + format("%path = concat({}) dim=1 : i64[4,{}]\noutput %path\nend\n", parts, count + 1);
  };
  EXPECT_EQ(planned(steps(10)).size(), 1u);
  EXPECT_GT(planned(steps(40)).size(), 1u);
}

TEST(Planning, StencilsAreNotComputedAgainForEveryNeighbour) {
  auto stencil = [](int count) {
    std::string text = "graph \"heat\"\ninput %u0 : f32[4,66]\n";
    for (int k = 1; k <= count; ++k)
      text += format(
          "%l{0} = slice(%u{1}) dim=1 start=0 end=64 : f32[4,64]\n"
          "%r{0} = slice(%u{1}) dim=1 start=2 end=66 : f32[4,64]\n"
          "%s{0} = add(%l{0}, %r{0}) : f32[4,64]\n"
          "%u{0} = pad(%s{0}) pads=[0,0,1,1] : f32[4,66]\n",
          k, k - 1);
    return text + format("output %u{}\nend\n", count);
  };
  EXPECT_EQ(planned(stencil(3)).size(), 1u);
  EXPECT_GT(planned(stencil(12)).size(), 1u);
}

TEST(Planning, AttentionReadsHeadsWhereTheyLie) {
  EXPECT_EQ(
      planned(R"(graph "self attention"
parameter %w : f32[96,32]
parameter %o : f32[32,32]
input %x : f32[4,9,32]
%y = linear(%x, %w) : f32[4,9,96]
%h = reshape(%y) shape=[4,9,3,4,8] : f32[4,9,3,4,8]
%a = slice(%h) dim=2 start=0 end=1 : f32[4,9,1,4,8]
%b = slice(%h) dim=2 start=1 end=2 : f32[4,9,1,4,8]
%c = slice(%h) dim=2 start=2 end=3 : f32[4,9,1,4,8]
%q = permute(%a) dims=[2,0,3,1,4] : f32[1,4,4,9,8]
%k = permute(%b) dims=[2,0,3,1,4] : f32[1,4,4,9,8]
%v = permute(%c) dims=[2,0,3,1,4] : f32[1,4,4,9,8]
%t = attention(%q, %k, %v) scale=0.35 : f32[1,4,4,9,8]
%p = permute(%t) dims=[0,1,3,2,4] : f32[1,4,9,4,8]
%r = reshape(%p) shape=[4,9,32] : f32[4,9,32]
%z = linear(%r, %o) : f32[4,9,32]
output %z
end
)"),
      (Lines{"matmul.cublaslt: linear",
             "attention.tensor_core: reshape slice slice slice permute permute permute attention permute",
             "matmul.cublaslt: reshape linear"}));
}

// y is needed twice, once after another product: taking it into that product's region would be a cycle.
TEST(Planning, NoRegionWaitsForItself) {
  Graph graph = graph_of(R"(graph "detour"
parameter %w : f32[8,8]
input %x : f32[8,8]
%a = exp(%x) : f32[8,8]
%b = linear(%a, %w) : f32[8,8]
%c = add(%a, %b) : f32[8,8]
output %c
end
)");
  auto plan = plan::make_plan(context_of(graph), code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_TRUE(plan::check(graph, *plan));
  EXPECT_EQ(regions_of(graph, *plan), (Lines{"loop: exp", "matmul.cublaslt: linear add"}));
}

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

TEST(Planning, InvalidPlansAreNamed) {
  Graph graph = graph_of(
      "graph \"g\"\ninput %x : f32[4]\n%a = exp(%x) : f32[4]\n%b = neg(%a) : f32[4]\noutput %b\nend\n");
  auto plan = plan::plain_plan(context_of(graph), code::catalogue());
  ASSERT_TRUE(plan);
  plan::Plan missing = *plan;
  missing.regions.pop_back();
  EXPECT_EQ(plan::check(graph, missing).error().message, "'b' is in no region");
  plan::Plan twice = *plan;
  twice.regions.push_back(twice.regions[0]);
  EXPECT_NE(plan::check(graph, twice).error().message.find("covered twice"), std::string::npos);
  plan::Plan backwards = *plan;
  std::swap(backwards.regions[0], backwards.regions[1]);
  EXPECT_NE(plan::check(graph, backwards).error().message.find("before anyone has written it"),
            std::string::npos);
}

// Two convolutions with a norm between them: {0} channels in.
std::string two_convolutions(int channels) {
  std::string text = R"(graph "net"
parameter %w1 : f32[32,{0},3,3]
parameter %w2 : f32[16,32,3,3]
buffer %mean : f32[32]
buffer %var : f32[32]
input %x : f32[64,{0},64,64]
%a = conv(%x, %w1) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[64,32,64,64]
%n, %m, %v = batch_norm(%a, none, none, %mean, %var) training=true : f32[64,32,64,64], f32[32], f32[32]
%r = relu(%n) : f32[64,32,64,64]
%b = conv(%r, %w2) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[64,16,64,64]
output %b
end
)";
  for (size_t i = text.find("{0}"); i != std::string::npos; i = text.find("{0}"))
    text.replace(i, 3, std::to_string(channels));
  return text;
}

std::set<int32_t> ten_bits(const Graph& graph, Numerics numerics, std::map<int32_t, bool> tf32 = {}) {
  return plan::Rounding(graph, numerics, {std::move(tf32)}).ten_bit_convolutions();
}

plan::Plan stored(const Graph& graph, Numerics numerics, bool half) {
  const plan::Context context = context_of(graph, numerics);
  auto plan = plan::plain_plan(context, code::catalogue());
  if (!plan) throw Bug(plan.error().text());
  for (auto step :
       {plan::choose_techniques, plan::fuse_loops, half ? plan::store_half : plan::store_channels_last}) {
    plan = step(context, *std::move(plan), code::catalogue());
    if (!plan) throw Bug(plan.error().text());
  }
  return *std::move(plan);
}

TEST(Planning, WhatLiesBetweenConvolutionsIsHalfAndChannelsLast) {
  Graph graph = graph_of(two_convolutions(16));
  plan::Storage half{DType::f16, {0, 2, 3, 1}}, last{DType::f32, {0, 2, 3, 1}}, plain{DType::f32, {}};
  plan::Plan halves = stored(graph, Numerics::standard, true),
             single = stored(graph, Numerics::standard, false);
  for (const char* name : {"a", "r"}) {
    EXPECT_EQ(halves.storage[index_of(graph.find(name))], half) << name;
    EXPECT_EQ(single.storage[index_of(graph.find(name))], last) << name;
  }
  for (const char* name : {"x", "b"})
    EXPECT_EQ(halves.storage[index_of(graph.find(name))], plain) << name << " is the caller's";
  EXPECT_TRUE(plan::check(graph, halves));
}

TEST(Planning, StrictRoundsNothing) {
  Graph graph = graph_of(two_convolutions(16));
  plan::Plan strict = stored(graph, Numerics::strict, true);
  for (const plan::Storage& storage : strict.storage) EXPECT_NE(storage.dtype, DType::f16);
  for (const plan::Region& region : strict.regions) EXPECT_EQ(region.offer, plan::Offer{}) << region.name;
}

// PyTorch stays in FP32 over few channels; where TF32 follows, its error is in the result anyway.
TEST(Planning, FewChannelsKeepTheirBitsUnlessOthersLoseThem) {
  Graph alone = graph_of(R"(graph "alone"
parameter %w : f32[16,8,5,5]
input %x : f32[16,8,64,64]
%y = conv(%x, %w) stride=[1,1] padding=[2,2] dilation=[1,1] : f32[16,16,64,64]
output %y
end
)");
  EXPECT_TRUE(ten_bits(alone, Numerics::standard).empty());
  EXPECT_EQ(stored(alone, Numerics::standard, true).regions[0].technique->name(), "conv.split_half");
  EXPECT_EQ(stored(alone, Numerics::strict, true).regions[0].technique->name(), "conv.cudnn");
  EXPECT_EQ(ten_bits(graph_of(two_convolutions(3)), Numerics::standard).size(), 2u);
}

// Nothing is transposed around a convolution that has more bytes than arithmetic, where its images are large
// and the caller's; a pool behind one with few channels is part of it.
TEST(Planning, LargeImagesAreConvolvedAsTheyLie) {
  Graph wide = graph_of(R"(graph "wide"
parameter %w : f32[128,16,3,3]
input %x : f32[8,16,512,512]
%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[8,128,510,510]
output %y
end
)");
  const plan::Plan plan = stored(wide, Numerics::standard, true);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].technique->name(), "conv.implicit");
  EXPECT_EQ(plan.regions[0].offer, (plan::Offer{plan::Arithmetic::half, plan::Order::row_major}));
  EXPECT_EQ(planned(R"(graph "pooled"
parameter %w : f32[64,8,3,3]
input %x : f32[32,8,130,130]
%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[32,64,128,128]
%t = tanh(%y) : f32[32,64,128,128]
%z = max_pool(%t) kernel=[4,4] stride=[4,4] padding=[0,0] dilation=[1,1] : f32[32,64,32,32]
output %z
end
)"),
            (Lines{"conv.implicit: conv tanh max_pool"}));
  // In fp16, too, where both together are expected to be faster than a library's convolution and the pool.
  EXPECT_EQ(planned(R"(graph "pooled"
parameter %w : f32[64,16,3,3]
input %x : f32[64,16,130,130]
%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[64,64,128,128]
%t = tanh(%y) : f32[64,64,128,128]
%z = avg_pool(%t) kernel=[2,2] stride=[2,2] padding=[0,0] : f32[64,64,64,64]
output %z
end
)"),
            (Lines{"conv.implicit: conv tanh avg_pool"}));
}

// Unless the variance behind them is a result: there, rounded weights are seen beside PyTorch's exact ones.
TEST(Planning, WhatStatisticsShowIsExact) {
  std::string text = two_convolutions(3);
  text.insert(text.find("end\n"), "update %mean = %m\nupdate %var = %v\n");
  Graph graph = graph_of(text);
  // PyTorch decides about its convolutions in both classes alike.
  for (Numerics numerics : {Numerics::standard, Numerics::tf32})
    EXPECT_EQ(ten_bits(graph, numerics), std::set<int32_t>{3});
  EXPECT_EQ(ten_bits(graph, Numerics::half).size(), 2u);
  plan::Plan plan = stored(graph, Numerics::standard, true);
  EXPECT_EQ(plan.regions[0].technique->name(), "conv.split_half");
  EXPECT_EQ(plan.storage[index_of(graph.find("r"))].dtype, DType::f16)
      << "what TF32 reads is still stored so";
}

// A MobileNet's block: around a depthwise layer, which PyTorch does in FP32, nothing is rounded.
TEST(Planning, ExactLayersKeepWhatTheyReadAndWrite) {
  Graph graph = graph_of(R"(graph "block"
parameter %w1 : f32[96,32,1,1]
parameter %w2 : f32[96,1,3,3]
parameter %w3 : f32[32,96,1,1]
buffer %mean : f32[96]
buffer %var : f32[96]
input %x : f32[16,32,56,56]
%a = conv(%x, %w1) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[16,96,56,56]
%b, %m1, %v1 = batch_norm(%a, none, none, %mean, %var) training=true : f32[16,96,56,56], f32[96], f32[96]
%c = relu(%b) : f32[16,96,56,56]
%d = conv(%c, %w2) stride=[1,1] padding=[1,1] dilation=[1,1] groups=96 : f32[16,96,56,56]
%e, %m2, %v2 = batch_norm(%d, none, none, %mean, %var) training=true : f32[16,96,56,56], f32[96], f32[96]
%f = relu(%e) : f32[16,96,56,56]
%g = conv(%f, %w3) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[16,32,56,56]
%h = relu(%g) : f32[16,32,56,56]
%i = conv(%h, %w1) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[16,96,56,56]
output %i
end
)");
  for (Numerics numerics : {Numerics::standard, Numerics::tf32}) {
    auto plan = plan::first_plan(context_of(graph, numerics), code::catalogue());
    ASSERT_TRUE(plan);
    for (auto step : {plan::choose_techniques, plan::fuse_loops, plan::store_half_beside_exact}) {
      plan = step(context_of(graph, numerics), *std::move(plan), code::catalogue());
      ASSERT_TRUE(plan) << plan.error().text();
    }
    auto stored_as = [&](const char* name) { return plan->storage[index_of(graph.find(name))].dtype; };
    for (const char* name : {"c", "d"}) EXPECT_EQ(stored_as(name), DType::f32) << name;
    for (const char* name : {"a", "f"}) EXPECT_EQ(stored_as(name), DType::f16) << name;
  }
}

// A ShuffleNet's unit: a product of groups stays in planes, so a large shortcut beside it does, too.
TEST(Planning, NormsReadLargeImagesInOneOrder) {
  for (int samples : {1, 10}) {
    Graph graph = graph_of(format(R"(graph "two ways"
parameter %w1 : f32[480,32,1,1]
parameter %w2 : f32[480,64,3,3]
buffer %mean : f32[480]
buffer %var : f32[480]
input %x : f32[{0},64,224,224]
%a = conv(%x, %w1) stride=[1,1] padding=[0,0] dilation=[1,1] groups=2 : f32[{0},480,224,224]
%b = conv(%x, %w2) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[{0},480,224,224]
%n, %m, %v = batch_norm(%a, none, none, %mean, %var) training=true : f32[{0},480,224,224], f32[480], f32[480]
%s = add(%n, %b) : f32[{0},480,224,224]
output %s
update %mean = %m
update %var = %v
end
)",
                                  samples));
    plan::Plan plan = stored(graph, Numerics::standard, true);
    EXPECT_TRUE(plan.storage[index_of(graph.find("a"))].order.empty());
    EXPECT_EQ(plan.storage[index_of(graph.find("b"))].order.empty(), samples == 10) << samples;
  }
}

TEST(Planning, WhatPyTorchWasSeenToDoCountsMoreThanTheGuess) {
  Graph graph = graph_of(two_convolutions(3));
  EXPECT_EQ(ten_bits(graph, Numerics::standard, {{0, false}, {3, false}}), std::set<int32_t>{});
  EXPECT_EQ(ten_bits(graph, Numerics::standard, {{0, true}, {3, false}}).size(), 2u);
}

// Phase by phase where cuDNN has nothing good: groups and strides in FP32, and few products for a result.
TEST(Planning, TransposedConvolutionsGoByPhases) {
  auto technique = [](int64_t channels, int64_t groups, Numerics numerics) {
    Graph graph = graph_of(format(R"(graph "transposed"
parameter %w : f32[{0},32,3,3]
input %x : f32[4,{0},32,32]
%y = conv_transpose(%x, %w) stride=[2,2] padding=[1,1] dilation=[1,1] groups={1} output_padding=[1,1] : f32[4,{2},64,64]
output %y
end
)",
                                  channels, groups, 32 * groups));
    return stored(graph, numerics, true).regions[0].technique->name();
  };
  EXPECT_EQ(technique(64, 1, Numerics::standard), "conv.cudnn");
  EXPECT_EQ(technique(64, 1, Numerics::strict), "conv.transposed");
  EXPECT_EQ(technique(64, 2, Numerics::standard), "conv.transposed");
  EXPECT_EQ(technique(16, 1, Numerics::standard), "conv.transposed");
}

// Their results are stored in fp16 where PyTorch has no more bits, and stay planes.
TEST(Planning, ResultsByPhasesAreStoredInHalf) {
  for (int64_t groups : {1, 3}) {
    Graph graph = graph_of(format(R"(graph "pooled"
parameter %w : f32[3,16,3,3,3]
input %x : f32[2,3,8,16,16]
%y = conv_transpose(%x, %w) stride=[2,2,2] padding=[1,1,1] dilation=[1,1,1] groups={0} output_padding=[0,0,0] : f32[2,{1},15,31,31]
%z = logsumexp(%y) dims=[1] keepdim=true : f32[2,1,15,31,31]
output %z
end
)",
                                  groups, 16 * groups));
    plan::Plan plan = stored(graph, Numerics::standard, true);
    const plan::Storage& storage = plan.storage[index_of(graph.find("y"))];
    EXPECT_EQ(storage.dtype, groups == 1 ? DType::f16 : DType::f32);
    EXPECT_TRUE(storage.order.empty());
    EXPECT_EQ(stored(graph, Numerics::strict, true).storage[index_of(graph.find("y"))].dtype, DType::f32);
  }
}

// A convolution alone.
std::string one_convolution(int64_t kernel, int64_t groups, int64_t stride, int64_t side) {
  int64_t out = (side - kernel) / stride + 1;
  return format(
      "graph \"one\"\nparameter %w : f32[128,{0},{1},{1}]\ninput %x : f32[16,64,{2},{2}]\n"
      "%y = conv(%x, %w) stride=[{3},{3}] padding=[0,0] dilation=[1,1] groups={4} : f32[16,128,{5},{5}]\n"
      "output %y\nend\n",
      64 / groups, kernel, side, stride, groups, out);
}

// Kernels of one pixel are products over planes, unless pixels don't come by fours.
// A step of decoding: a layer's part of the cache is neither cut out nor copied, and counts as what it is.
TEST(Planning, AttentionReadsACacheBesideWhatIsNew) {
  auto step = [](const char* outputs) {
    return std::string(R"(graph "decoding"
input %q : f32[2,8,1,64]
input %cache : f32[4,2,2,511,64]
input %k_new : f32[2,2,1,64]
input %v_new : f32[2,2,1,64]
%a = slice(%cache) dim=0 start=0 end=1 : f32[1,2,2,511,64]
%b = reshape(%a) shape=[2,2,511,64] : f32[2,2,511,64]
%c = slice(%cache) dim=0 start=1 end=2 : f32[1,2,2,511,64]
%d = reshape(%c) shape=[2,2,511,64] : f32[2,2,511,64]
%k = concat(%b, %k_new) dim=2 : f32[2,2,512,64]
%v = concat(%d, %v_new) dim=2 : f32[2,2,512,64]
%o = attention(%q, %k, %v) scale=0.125 : f32[2,8,1,64]
)") + outputs +
           "end\n";
  };
  const std::string text = step("output %o\n");
  EXPECT_EQ(planned(text), (Lines{"attention.few: slice reshape slice reshape concat concat attention"}));
  Graph graph = graph_of(text);
  auto plan = plan::make_plan(context_of(graph), code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  const double cut = 2.0 * 2 * 2 * 512 * 64, rows = 2.0 * 2 * 8 * 64;
  EXPECT_EQ(plan::work_of(graph, *plan, plan->regions[0]).bytes, 4 * (cut + rows));
  // A cache that is handed out is written anyway.
  const Lines kept = planned(step("output %o\noutput %k\noutput %v\n"));
  EXPECT_EQ(std::ranges::count(kept, "attention.few: attention"), 1) << join(kept, "\n");
}

TEST(Planning, PointwiseConvolutionsAreProducts) {
  EXPECT_EQ(planned(one_convolution(1, 1, 1, 64)), (Lines{"conv.pointwise: conv"}));
  EXPECT_EQ(planned(one_convolution(1, 4, 1, 64)), (Lines{"conv.pointwise: conv"}));
  EXPECT_EQ(planned(one_convolution(1, 1, 1, 7)), (Lines{"conv.cudnn: conv"}));
  EXPECT_EQ(planned(one_convolution(1, 1, 2, 64)), (Lines{"conv.cudnn: conv"}));
  EXPECT_EQ(planned(one_convolution(3, 1, 1, 64)), (Lines{"conv.cudnn: conv"}));
}

// cuDNN would pad channels that aren't multiples of eight, and cut them again: a kernel takes them as they
// are.
TEST(Planning, OddChannelsAreNotPadded) {
  for (int64_t channels : {58, 64}) {
    Graph graph = graph_of(format(R"(graph "net"
parameter %w1 : f32[64,64,3,3]
parameter %w2 : f32[{0},64,1,1]
parameter %w3 : f32[64,{0},1,1]
parameter %w4 : f32[64,64,3,3]
input %x : f32[16,64,28,28]
%a = conv(%x, %w1) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[16,64,28,28]
%b = conv(%a, %w2) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[16,{0},28,28]
%c = conv(%b, %w3) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[16,64,28,28]
%d = conv(%c, %w4) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[16,64,28,28]
output %d
end
)",
                                  channels));
    plan::Plan plan = stored(graph, Numerics::standard, true);
    for (size_t r : {1u, 2u})
      EXPECT_EQ(plan.regions[r].technique->name(),
                channels == 58 ? "conv.pointwise_odd" : "conv.pointwise_nhwc");
    for (const char* name : {"a", "b", "c"})
      EXPECT_EQ(plan.storage[index_of(graph.find(name))], (plan::Storage{DType::f16, {0, 2, 3, 1}})) << name;
  }
}

// Between others of a network they read and write fp16, channels last, as those do: in small tiles, or over
// groups, which cuDNN would copy one by one, as products still. Groups that don't start at 16 bytes keep to
// planes.
TEST(Planning, PointwiseConvolutionsFollowTheirNetwork) {
  for (int64_t groups : {1, 2, 16}) {
    Graph graph = graph_of(format(R"(graph "net"
parameter %w1 : f32[64,64,3,3]
parameter %w2 : f32[64,{0},1,1]
parameter %w3 : f32[64,64,3,3]
input %x : f32[64,64,64,64]
%a = conv(%x, %w1) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[64,64,64,64]
%b = conv(%a, %w2) stride=[1,1] padding=[0,0] dilation=[1,1] groups={1} : f32[64,64,64,64]
%c = conv(%b, %w3) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[64,64,64,64]
output %c
end
)",
                                  64 / groups, groups));
    plan::Plan plan = stored(graph, Numerics::standard, true);
    EXPECT_EQ(plan.regions[1].technique->name(), groups == 1 ? "conv.pointwise_nhwc" : "conv.pointwise");
    plan::Storage half{DType::f16, {0, 2, 3, 1}}, planes{DType::f32, {}};
    for (const char* name : {"a", "b"})
      EXPECT_EQ(plan.storage[index_of(graph.find(name))], groups == 16 ? planes : half) << groups << name;
  }
}

// Class strict has no TF32: the same product, at FP32's accuracy.
TEST(Planning, StrictPointwiseConvolutionsAreExact) {
  plan::Plan strict = stored(graph_of(one_convolution(1, 1, 1, 64)), Numerics::strict, true);
  EXPECT_EQ(strict.regions[0].technique->name(), "conv.pointwise");
  EXPECT_EQ(strict.regions[0].offer.arithmetic, plan::Arithmetic::exact);
}

}  // namespace stitch
