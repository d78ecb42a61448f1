// What the Planner makes of convolutions, and of what lies between them.
#include <gtest/gtest.h>

#include "code/write_program.h"
#include "plan/choose.h"
#include "plan/cost/estimate.h"
#include "plan/plain_plan.h"
#include "plan/regions/fusion.h"
#include "plan/regions/layouts.h"
#include "plan/steps.h"
#include "plan/testdata/planned.h"

namespace stitch {

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
