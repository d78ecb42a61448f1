#include "code/loops/loop.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "code/loops/reduction.h"
#include "code/loops/techniques.h"
#include "graph/text.h"

namespace stitch::code::loops {
namespace {

const GpuSpec& h200() {
  static const GpuSpec gpu = *find_gpu("H200");
  return gpu;
}

// The whole graph as one region, its outputs written.
std::string written(const std::string& text, std::string_view technique) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().text();
  plan::Region region;
  region.name = "region";
  region.reads = graph->inputs();
  region.writes = graph->outputs;
  for (size_t i = 0; i < graph->nodes.size(); ++i) region.nodes.push_back(static_cast<int32_t>(i));
  plan::Context context(*graph, h200(), Numerics::standard);
  auto found = classify(context, region);
  EXPECT_TRUE(found) << found.error().text();
  EXPECT_EQ((*found)->name(), technique);
  auto code = (*found)->write(request_alone(context, region));
  EXPECT_TRUE(code) << code.error().text();
  return code->source;
}

TEST(Loop, AChainIsOnePassInPacks) {
  EXPECT_EQ(
      written(
          "graph \"g\"\ninput %x : f32[64,100]\nparameter %b : f32[100]\n\n%a = add(%x, %b) : f32[64,100]\n"
          "%y = relu(%a) : f32[64,100]\n\noutput %y\nend\n",
          "loop"),
      R"(// add, relu: each thread makes neighbouring elements of the results, and what is between is never stored.
// 51.6 kB moved.
namespace {

template <bool aligned>
__global__ void __launch_bounds__(256) region(const float* __restrict__ x,  // (64, 100)
                                              const float* __restrict__ b,  // (100)
                                              float* __restrict__ y) {      // (64, 100)
  stitch::wait_for_previous_kernel();
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index >= 1600) return;
  const auto x_vector = stitch::load_vector<aligned, 4>(x + index * 4);
  const auto b_vector = stitch::load_vector<aligned, 4>(b + (index % 25) * 4);
  stitch::Pack<float, 4> y_out;
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const float x_value = x_vector[v];
    const float b_value = b_vector[v];
    const float a = x_value + b_value;
    y_out[v] = stitch::relu(a);
  }
  stitch::store_vector<aligned>(y + index * 4, y_out);
}

}  // namespace

StitchStatus enqueue_region(const float* x,      // (64, 100)
                            const float* b,      // (100)
                            float* y,            // (64, 100)
                            int region_threads,  // a block
                            cudaStream_t stream) {
  bool aligned = stitch::is_aligned(x, 16) && stitch::is_aligned(b, 16) && stitch::is_aligned(y, 16);
  return stitch::launch("region", aligned ? region<true> : region<false>,
                        stitch::spread(1600, region_threads), stream, x, b, y);
}
)");
}

TEST(Loop, ViewsAreOnlyIndices) {
  std::string source = written(
      "graph \"g\"\ninput %x : f32[6,4,5]\n\n%p = permute(%x) dims=[2,0,1] : f32[5,6,4]\n"
      "%r = reshape(%p) shape=[5,24] : f32[5,24]\n%s = slice(%r) dim=1 start=4 end=24 : f32[5,20]\n\noutput "
      "%s\nend\n",
      "loop");
  EXPECT_EQ(source.find("p ="), std::string::npos) << source;
  EXPECT_NE(source.find("x["), std::string::npos) << source;
}

// Six times rows and columns in turns, each over the other's sums: one element would take (6 * 7)^6 steps.
TEST(Loop, ReductionsInsideOfReductionsAreNoPower) {
  std::string text = "graph \"g\"\ninput %z : f32[6,7]\n\n%b0 = sum(%z) dims=[0] : f32[7]\n";
  for (int i = 0; i < 6; ++i) {
    std::string now = std::to_string(i), next = std::to_string(i + 1);
    text += "%p" + now + " = mul(%z, %b" + now + ") : f32[6,7]\n%a" + now + " = sum(%p" + now +
            ") dims=[1] keepdim=true : f32[6,1]\n";
    text += "%q" + now + " = mul(%z, %a" + now + ") : f32[6,7]\n%b" + next + " = sum(%q" + now +
            ") dims=[0] : f32[7]\n";
  }
  auto graph = parse_graph(text + "\noutput %b6\nend\n");
  ASSERT_TRUE(graph) << graph.error().text();
  plan::Region region{.name = "turns"};
  for (int32_t n = 0; n < std::ssize(graph->nodes); ++n) region.nodes.push_back(n);
  EXPECT_FALSE(accepts_nesting(*graph, region));
  region.nodes.resize(6);
  EXPECT_TRUE(accepts_nesting(*graph, region));
}

TEST(Loop, TechniquesByWhatIsInside) {
  auto one = [](const std::string& x, const std::string& call, const std::string& y,
                std::string_view technique) {
    (void)written("graph \"g\"\ninput %x : " + x + "\n\n%y = " + call + " : " + y + "\n\noutput %y\nend\n",
                  technique);
  };
  one("f32[8,100]", "softmax(%x) dim=1", "f32[8,100]", "row");
  one("f32[8,4]", "sum(%x) dims=[1]", "f32[8]", "loop");
  one("f32[8,100]", "cumsum(%x) dim=1", "f32[8,100]", "scan");
}

// Few rows are bound by latency: their weights are loaded with them, not after the statistics. With many rows
// registers would reduce occupancy.
TEST(Loop, FewRowsLoadTheirWeightsAhead) {
  auto norm = [](int rows) {
    return written(format("graph \"g\"\ninput %x : f32[{0},768]\nparameter %w : f32[768]\n\n"
                          "%y = layer_norm(%x, %w) dims=1 : f32[{0},768]\n\noutput %y\nend\n",
                          rows),
                   "row");
  };
  const std::string few = norm(1024), many = norm(65536);
  EXPECT_LT(few.find("load_vector<aligned, 4>(w"), few.find("reduce_lanes")) << few;
  EXPECT_GT(many.find("load_vector<aligned, 4>(w"), many.find("reduce_lanes")) << many;
}

// NCHW to NHWC: one block per channel would write every line of the result many times.
TEST(Loop, RowsThatAreWrittenAcrossGoByStages) {
  auto graph = parse_graph(
      "graph \"g\"\ninput %x : f32[4,64,32,32]\ninput %m : f32[64]\ninput %v : f32[64]\n\n"
      "%y, %a, %b = batch_norm(%x, %m, %v, %m, %v) training=true : f32[4,64,32,32], f32[64], f32[64]\n\n"
      "output %y\nend\n");
  ASSERT_TRUE(graph) << graph.error().text();
  plan::Region region{.name = "region", .nodes = {0}, .reads = graph->inputs(), .writes = graph->outputs};
  plan::Context context(*graph, h200(), Numerics::standard);
  RegionRequest request = request_alone(context, region);
  auto kernels = [&] { return batch_norm().write(request)->kernels; };
  EXPECT_EQ(kernels(), 1);
  request.writes[0].strides = {64 * 1024, 1, 32 * 64, 64};
  EXPECT_GT(kernels(), 1);
}

// What a decision knows of the machine, it is told: fewer multiprocessors need fewer parts of a row.
TEST(Loop, PartsOfRowsFollowTheMultiprocessors) {
  auto graph = parse_graph(
      "graph \"g\"\ninput %x : f32[4,4000000]\n\n%y = sum(%x) dims=[1] : f32[4]\n\noutput %y\nend\n");
  ASSERT_TRUE(graph) << graph.error().text();
  plan::Region region{.name = "region", .nodes = {0}, .reads = graph->inputs(), .writes = graph->outputs};
  auto workspace = [&](int sms) {
    GpuSpec gpu = h200();
    gpu.sms = sms;
    plan::Context context(*graph, gpu, Numerics::standard);
    return row().write(request_alone(context, region))->workspace_bytes;
  };
  EXPECT_GT(workspace(132), 2 * workspace(32));
}

TEST(Loop, IndicesAreWideWhereTheyMustBe) {
  std::string source = written(
      "graph \"g\"\ninput %x : f32[5,1000000000]\n\n%y = neg(%x) : f32[5,1000000000]\n\noutput %y\nend\n",
      "loop");
  EXPECT_NE(source.find("const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x"),
            std::string::npos)
      << source;
}

// What only the second result needs is not computed for the first.
TEST(Loop, NothingIsComputedForNobody) {
  std::string source = written(
      "graph \"g\"\ninput %x : f32[1,8,9,9]\n\n%y, %p = max_pool(%x) kernel=[3,3] stride=[2,2] padding=[1,1] "
      "dilation=[1,1] indices=true : f32[1,8,5,5], i64[1,8,5,5]\n\noutput %y\nend\n",
      "loop");
  EXPECT_NE(source.find(" = x_value;"), std::string::npos) << source;
  EXPECT_EQ(source.find("_from"), std::string::npos) << source;
}

// Constants stay numbers until they are printed: a mean over a window that is always whole is a product.
TEST(Loop, MeansOfWholeWindowsAreProducts) {
  auto mean = [](const char* padding) {
    return written(
        format("graph \"g\"\ninput %x : f32[1,8,8,8]\n\n%y = avg_pool(%x) kernel=[2,2] stride=[2,2] "
               "padding={} count_padding=false : {}\n\noutput %y\nend\n",
               padding, std::string_view(padding) == "[0,0]" ? "f32[1,8,4,4]" : "f32[1,8,5,5]"),
        "loop");
  };
  EXPECT_NE(mean("[0,0]").find(" * 0.25f;"), std::string::npos) << mean("[0,0]");
  EXPECT_NE(mean("[1,1]").find("static_cast<float>((y_end - y_begin) * (x_end - x_begin))"),
            std::string::npos)
      << mean("[1,1]");
}

}  // namespace
}  // namespace stitch::code::loops
