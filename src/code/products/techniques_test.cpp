// What techniques refuse, in which words, and how generated code reads.
#include "code/catalogue.h"
#include "code/products/epilogue.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/text.h"

namespace stitch::code {
namespace {

const GpuSpec& h200() {
  static const GpuSpec gpu = *find_gpu("H200");
  return gpu;
}

struct Asked {
  Graph graph;
  plan::Region region;
};
Asked ask(const std::string& technique, const std::string& text) {
  Asked asked;
  auto graph = parse_graph("graph \"g\"\n" + text + "end\n");
  EXPECT_TRUE(graph) << graph.error().text();
  asked.graph = *std::move(graph);
  asked.region.name = "r";
  asked.region.technique = catalogue().find(technique);
  asked.region.writes = asked.graph.outputs;
  for (size_t i = 0; i < asked.graph.nodes.size(); ++i) asked.region.nodes.push_back(static_cast<int32_t>(i));
  return asked;
}
std::string refusal(const std::string& technique, const std::string& text) {
  Asked asked = ask(technique, text);
  auto accepted = asked.region.technique->accepts({asked.graph, h200(), Numerics::standard}, asked.region);
  return accepted ? "accepted" : accepted.error().text();
}

TEST(Techniques, NameTypesApart) {
  EXPECT_EQ(type_name("fc1", "Epilogue"), "Fc1Epilogue");
  EXPECT_EQ(type_name("linear_relu", "Product"), "LinearReluProduct");
  std::set<std::string> names;
  const std::vector<std::string> regions = {"conv2d_12", "conv2d_1_2", "conv2d12", "conv2_d12", "conv_2d_12"};
  for (const std::string& region : regions) names.insert(type_name(region, "Product"));
  EXPECT_EQ(names.size(), regions.size());
}

TEST(Techniques, HaveNamesAndIdeas) {
  std::set<std::string_view> names;
  for (const plan::Technique* each : catalogue().all()) {
    EXPECT_TRUE(names.insert(each->name()).second) << each->name();
    EXPECT_FALSE(each->idea().empty());
    EXPECT_EQ(catalogue().find(each->name()), each);
  }
}

TEST(Techniques, SayWhatTheyCannotDo) {
  const char* softmax =
      "input %x : f32[3,4]\nparameter %w : f32[5,4]\n%y = linear(%x, %w) : f32[3,5]\n"
      "%z = softmax(%y) dim=1 : f32[3,5]\noutput %z\n";
  EXPECT_EQ(refusal("matmul.plain", softmax), "r: matmul.plain has no softmax behind its product");
  const char* before =
      "input %x : f32[3,4]\nparameter %w : f32[5,4]\n%a = exp(%x) : f32[3,4]\n%y = linear(%a, %w) : "
      "f32[3,5]\n"
      "output %y\n";
  EXPECT_EQ(refusal("matmul.plain", before), "r: matmul.plain can't compute exp before its product");
  const char* empty = "input %a : f32[3,0]\ninput %b : f32[0,2]\n%y = matmul(%a, %b) : f32[3,2]\noutput %y\n";
  EXPECT_EQ(refusal("matmul.cublaslt", empty), "r: matmul.cublaslt has no products of nothing");
  EXPECT_EQ(refusal("matmul.plain", empty), "accepted");
  const char* two =
      "input %x : f32[3,3]\n%y = matmul(%x, %x) : f32[3,3]\n%z = matmul(%y, %x) : f32[3,3]\noutput %z\n";
  EXPECT_EQ(refusal("matmul.plain", two), "r: matmul.plain takes one product a region");
  const char* both =
      "input %x : f32[3,3]\n%y = matmul(%x, %x) : f32[3,3]\n%z = relu(%y) : f32[3,3]\noutput %y\noutput %z\n";
  EXPECT_EQ(refusal("matmul.plain", both), "r: matmul.plain writes only what its last node makes");
}

// Bound by memory; a GELU after it isn't hidden.
TEST(Techniques, LeaveGelusOfLargeImagesToLibraries) {
  auto suits = [](const std::string& activation) {
    const Asked asked = ask("conv.implicit",
                            "input %x : f32[64,64,256,256]\nparameter %w : f32[64,64,3,3]\n"
                            "%y = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] : "
                            "f32[64,64,256,256]\n%z = " +
                                activation + "(%y) : f32[64,64,256,256]\noutput %z\n");
    return asked.region.technique->suits({asked.graph, h200(), Numerics::standard}, asked.region,
                                         {plan::Arithmetic::half, plan::Order::row_major});
  };
  EXPECT_TRUE(suits("relu"));
  EXPECT_FALSE(suits("gelu"));
}

TEST(Techniques, TakeEveryPointwiseOp) {
  for (const char* op : {"elu(%y) alpha=0.5", "softplus(%y)", "hardsigmoid(%y)", "log1p(%y)", "erf(%y)",
                         "round(%y)", "rsqrt(%y)", "pow(%y, %x)", "atan2(%y, %x)", "remainder(%y, %x)"}) {
    std::string graph = format(
        "input %x : f32[3,5]\nparameter %w : f32[5,5]\n%y = linear(%x, %w) : f32[3,5]\n%z = {} : f32[3,5]\n"
        "output %z\n",
        op);
    EXPECT_EQ(refusal("matmul.plain", graph), "accepted") << op;
    EXPECT_EQ(refusal("matmul.cublaslt", graph), "accepted") << op;
  }
  const char* conv =
      "input %x : f32[1,3,8,8]\nparameter %w : f32[4,3,3,3]\n%y = conv(%x, %w) stride=[1,1] padding=[0,0] "
      "dilation=[1,1] : f32[1,4,6,6]\n"
      "%z = elu(%y) : f32[1,4,6,6]\noutput %z\n";
  EXPECT_EQ(refusal("conv.cudnn", conv), "accepted");
  const char* other_type =
      "input %x : f32[3,4]\nparameter %w : f32[5,4]\n%y = linear(%x, %w) : f32[3,5]\n"
      "%z = is_nan(%y) : bool[3,5]\noutput %z\n";
  EXPECT_EQ(refusal("matmul.plain", other_type), "r: matmul.plain can't make bool of a product of f32");
}

TEST(Techniques, WriteReadableCode) {
  Asked asked = ask("matmul.plain",
                    "input %x : f32[3,4]\nparameter %w : f32[5,4]\nparameter %b : f32[5]\n"
                    "%y = linear(%x, %w, %b) : f32[3,5]\n%z = relu(%y) : f32[3,5]\noutput %z\n");
  auto place = [&](const char* name) {
    ValueId id = asked.graph.find(name);
    const TensorType& type = asked.graph.type(id);
    return Place{id, name, type.dtype, type.shape, contiguous_strides(type.shape)};
  };
  const plan::Context context(asked.graph, h200(), Numerics::standard);
  RegionRequest request{context, asked.region, "fc1", {place("x")}, {place("w"), place("b")}, {place("z")}};
  auto code = technique_of(asked.region).write(request);
  ASSERT_TRUE(code) << code.error().text();
  EXPECT_EQ(code->declaration,
            "StitchStatus enqueue_fc1(const float* x,  // (3, 4)\n"
            "                         const float* w,  // (5, 4)\n"
            "                         const float* b,  // (5)\n"
            "                         float* z,        // (3, 5)\n"
            "                         cudaStream_t stream);\n");
  EXPECT_EQ(code->arguments, (std::vector<std::string>{"x", "w", "b", "z"}));
  EXPECT_NE(code->source.find("struct Fc1Epilogue {\n"
                              "  const float* b;  // (5)\n"
                              "  __device__ float operator()(float value, int position) const {\n"
                              "    value += b[position % 5];\n"
                              "    return stitch::relu(value);\n"
                              "  }\n"
                              "};\n"),
            std::string::npos)
      << code->source;
}

}  // namespace
}  // namespace stitch::code
