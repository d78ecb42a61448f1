#include "code/written.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "code/catalogue.h"
#include "code/rewritten.h"
#include "code/write_program.h"
#include "code/written_resources.h"
#include "graph/text.h"
#include "plan/cost/estimate.h"
#include "plan/document/document.h"
#include "plan/document/edit.h"
#include "plan/steps.h"

namespace stitch::code {
namespace {

constexpr const char* two_blocks = R"(graph "two"
input %x : f32[4,8]
%a = relu(%x) : f32[4,8]
%b = sigmoid(%a) : f32[4,8]
output %b
end
)";

Graph graph_of(const char* text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  return *std::move(graph);
}

GpuSpec gpu() { return *find_gpu("H200"); }

TEST(Written, IsPartOfPlanDocumentAndProgram) {
  const Graph graph = graph_of(two_blocks);
  const GpuSpec h200 = gpu();
  const plan::Context context(graph, h200, Numerics::standard);
  auto plan = plan::first_plan(context, catalogue());
  ASSERT_TRUE(plan);
  const std::string region = plan->regions[0].name;
  auto requests = requests_of(context, *plan);
  ASSERT_TRUE(requests);
  EXPECT_NE(required_function((*requests)[0]).find("StitchStatus enqueue_" + region + "("),
            std::string::npos);
  EXPECT_NE(describe_places((*requests)[0]).find("strides in elements (8, 1)"), std::string::npos);

  const plan::Source source{.function = "enqueue_" + region,
                            .text = required_function((*requests)[0]) + " { return STITCH_OK; }",
                            .author = "a test"};
  auto given = with_source(context, *plan, region, source);
  ASSERT_TRUE(given) << given.error().message;
  ASSERT_TRUE(plan::check_whole(context, *given));
  const Json document = plan::to_json(context, *given);
  EXPECT_EQ(document["regions"][0]["technique"], "written");
  auto again = plan::read_plan(document, context, catalogue());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(plan::to_json(context, *again).dump(), document.dump());
  EXPECT_EQ(plan::changed_regions(*plan, *given), std::vector<std::string>{region});

  auto program = write_program(context, *given);
  ASSERT_TRUE(program);
  const std::string& file = program->sources.at("regions/" + region + ".cu");
  EXPECT_NE(file.find("{ return STITCH_OK; }"), std::string::npos);
}

TEST(Written, RefusesWhatIsNoSourceOfTheRegion) {
  const Graph graph = graph_of(two_blocks);
  const GpuSpec h200 = gpu();
  const plan::Context context(graph, h200, Numerics::standard);
  auto plan = plan::first_plan(context, catalogue());
  ASSERT_TRUE(plan);
  const std::string region = plan->regions[0].name;
  auto refused = [&](plan::Source source) {
    auto given = with_source(context, *plan, region, std::move(source));
    return given ? std::string("accepted") : given.error().message;
  };
  EXPECT_NE(
      refused({.function = "enqueue_a", .text = "// enqueue_a is only a comment"}).find("doesn't define"),
      std::string::npos);
  EXPECT_NE(refused({.function = "a b", .text = "a b"}).find("name"), std::string::npos);
  EXPECT_NE(refused({.function = "f", .text = "f", .workspace_bytes = -1}).find("workspace"),
            std::string::npos);
  EXPECT_FALSE(with_source(context, *plan, "nobody", {.function = "f", .text = "f"}));

  // A source where none belongs, and none where one does.
  Json document = plan::to_json(context, *plan);
  document["regions"][0]["source"] = {{"function", "f"}, {"text", "f"}};
  auto read = plan::read_plan(document, context, catalogue());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("writes its code itself"), std::string::npos);
  document["regions"][0].erase("source");
  document["regions"][0]["technique"] = "written";
  EXPECT_FALSE(plan::read_plan(document, context, catalogue()));
}

TEST(Written, IsGivenToAllRegionsOfTheSameStructure) {
  const Graph graph = graph_of(R"(graph "twice"
input %x : f32[4,8]
%a = relu(%x) : f32[4,8]
%b = relu(%a) : f32[4,8]
%c = relu(%b) : f32[4,8]
output %c
end
)");
  const GpuSpec h200 = gpu();
  const plan::Context context(graph, h200, Numerics::standard);
  auto plan = plan::first_plan(context, catalogue());
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->regions.size(), 3U);
  const std::string second = plan->regions[1].name;
  auto given = with_source(context, *plan, second,
                           {.function = "enqueue_" + second, .text = "int enqueue_" + second + ";"});
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->regions[1].technique->name(), "written");
  auto program = write_program(context, *given);
  ASSERT_TRUE(program);
}

// The example, as a plan's only region.
struct Example {
  explicit Example(const std::string& text = std::string(graph_of_example()))
      : graph(graph_of(text.c_str())) {}

  Graph graph;
  GpuSpec h200 = gpu();
  plan::Context context{graph, h200, Numerics::half};
  plan::Plan plan =
      *plan::as_one_region(context, *plan::first_plan(context, catalogue()), "mlp", catalogue());

  Result<plan::Plan> with(std::string text) const {
    return with_source(context, plan, "mlp", {.function = "enqueue_mlp", .text = std::move(text)});
  }
};

TEST(Written, HasPackedWeightsProductsSettingsAndScratchMemory) {
  const Example example;
  auto given = example.with(std::string(example_of_written()));
  ASSERT_TRUE(given) << given.error().text();
  // Other regions of the same structure have other names.
  const plan::Source& source = *given->regions[0].source;
  EXPECT_NE(source.text.find("\"from\": [\"weight 0\"]"), std::string::npos) << source.text;
  auto requests = requests_of(example.context, *given);
  ASSERT_TRUE(requests);
  const std::string function = required_function((*requests)[0], source);
  for (const char* parameter : {"const __half* mlp_weight_half", "const stitch::Matmul& mlp_product",
                                "int mlp_threads", "void* workspace"})
    EXPECT_NE(function.find(parameter), std::string::npos) << function;
  EXPECT_EQ(function.find("float* weight"), std::string::npos) << function;
  EXPECT_EQ(function.find("float* bias"), std::string::npos) << function;

  auto program = write_program(example.context, *given);
  ASSERT_TRUE(program) << program.error().text();
  const std::string& scaffold = program->sources.at("program.cu");
  for (const char* line : {"pack_mlp_weight_half(weight, mlp_weight_half, nullptr)",
                           "spec.epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;", "spec.bias = bias;",
                           "spec.algorithm = mlp_product_algorithm;", "copy_weight(bias,"})
    EXPECT_NE(scaffold.find(line), std::string::npos) << line << "\n" << scaffold;
  EXPECT_EQ(scaffold.find("copy_weight(weight,"), std::string::npos) << "packed weights aren't kept twice";
  std::vector<std::string> settings;
  for (const ManifestSetting& setting : program->manifest.settings) settings.push_back(setting.name);
  EXPECT_EQ(join(settings, " "), "mlp_product.algorithm mlp.threads");
  EXPECT_NE(program->sources.at("regions.h").find("cuda_fp16.h"), std::string::npos);
}

// As the archive finds it for another model, or a region of the same structure.
TEST(Written, FitsARegionWhoseWeightsHaveOtherNames) {
  const Example example;
  auto given = example.with(std::string(example_of_written()));
  ASSERT_TRUE(given);
  std::string text(graph_of_example());
  for (const auto& [from, to] : {std::pair("%weight", "%kernel"), std::pair("%bias", "%shift")})
    for (size_t at; (at = text.find(from)) != text.npos;) text.replace(at, std::string_view(from).size(), to);
  const Example other(text);
  auto fits = other.with(given->regions[0].source->text);
  ASSERT_TRUE(fits) << fits.error().text();
  auto program = write_program(other.context, *fits);
  ASSERT_TRUE(program) << program.error().text();
  const std::string& scaffold = program->sources.at("program.cu");
  EXPECT_NE(scaffold.find("pack_mlp_weight_half(kernel, mlp_weight_half, nullptr)"), std::string::npos);
  EXPECT_NE(scaffold.find("spec.bias = shift;"), std::string::npos);
}

TEST(Written, IsRefusedForWhatItDeclaresBeforeItIsCompiled) {
  const Example example;
  const std::string source(example_of_written());
  auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = source;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    auto given = example.with(text.replace(at, from.size(), to));
    return given ? std::string("accepted") : given.error().message;
  };
  EXPECT_EQ(refused("\"workspace\"", "\"workspaces\""),
            "resources: \"workspaces\" is not known here; did you mean \"workspace\"?");
  EXPECT_EQ(refused("1152", "99999999999999999"),
            "resources: workspace: must be at most 1099511627776, is 99999999999999999");
  EXPECT_EQ(refused("\"elements\": 768", "\"elements\": 1099511627776"), "resources: weight_half: too large");
  EXPECT_EQ(refused("\"columns\": 24, \"depth\": 32", "\"columns\": 1000000000, \"depth\": 1000000000"),
            "resources: product: a matrix of 1 x 1000000000 x 1000000000 is too large");
  EXPECT_EQ(refused("[\"weight\"]", "[\"wait\"]"),
            "resources: weight_half: 'wait' is no weight; there are weight, bias");
  EXPECT_EQ(refused("[\"weight\"]", "[\"weight 7\"]"),
            "resources: weight_half: 'weight 7' is no weight; there are weight, bias");
  EXPECT_EQ(refused("\"by\": \"pack_weight\"", "\"by\": \"pack\""),
            "resources: weight_half: the source has no function 'pack'");
  EXPECT_EQ(refused("\"bias\": \"bias\"", "\"bias\": \"weight_half\""),
            "resources: product: the bias is 768 x f16, and has to be 24 x f32");
  EXPECT_EQ(refused(", \"bias\": \"bias\"", ""), "resources: product: the epilogue gelu_bias needs \"bias\"");
  EXPECT_EQ(refused("\"value\": 128", "\"value\": 7"), "resources: threads: 7 is none of its values");
  EXPECT_EQ(refused("[64, 128, 256]", "[64, 128, 128]"), "resources: threads: a value stands twice");
  std::string endless = "[0";
  for (int i = 1; i < 1000; ++i) endless += format(", {}", i);
  EXPECT_EQ(refused("[64, 128, 256]", endless + "]"),
            "resources: settings[0].values: must have at most 16 items, has 1000");
  EXPECT_EQ(refused("\"name\": \"threads\"", "\"name\": \"product\""),
            "resources: product: another parameter's name");
  EXPECT_EQ(refused("\"name\": \"threads\"", "\"name\": \"x\\n; system()\""),
            "resources: x?; system(): not a C++ identifier, or one that is taken");
  const std::string conv = R"("workspace": 1152, "convolutions": [{"name": "c", "batch": 1, "channels_in": 4,
    "channels_out": 4, "size": [8, 8], "kernel": )";
  EXPECT_EQ(refused("\"workspace\": 1152", conv + "[3, 3]}]"), "accepted");
  EXPECT_EQ(refused("\"workspace\": 1152", conv + "[3]}]"),
            "resources: convolutions[0].kernel: must have at least 2 items, has 1");
  EXPECT_EQ(refused("\"workspace\": 1152", conv + "[3, 3, 3]}]"),
            "resources: c: size, kernel, stride, padding and dilation have 2 numbers each");
  EXPECT_EQ(refused("\"workspace\": 1152", conv + "[9, 9]}]"),
            "resources: c: the kernel is larger than the padded image");
  EXPECT_EQ(refused("\"workspace\": 1152", conv + "[3, 3], \"groups\": 3}]"),
            "resources: c: channels are no multiple of groups");
  EXPECT_EQ(refused("*/\nnamespace", "\nnamespace"), "the comment 'resources' has no end");
  EXPECT_EQ(refused("*/\nnamespace", "*/\n/* resources {} */\nnamespace"),
            "the source has two comments 'resources'");
  EXPECT_NE(refused("\"workspace\": 1152", "\"workspace\": ").find("resources: "), std::string::npos);
}

// A plan document's source is looked at before it is known which weights there are.
TEST(Written, IsReadWithoutItsRegion) {
  std::string source(example_of_written());
  EXPECT_TRUE(resources_in(source, nullptr));
  source.replace(source.find("[\"weight\"]"), 10, "[\"weight x\"]");
  auto refused = resources_in(source, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "resources: weight_half: 'weight x' is no weight; weights have names, or "
            "are called \"weight 0\" and so on");
}

TEST(Written, LeavesProgrammaticLaunchesOnWhereItsKernelsWait) {
  const Graph graph = graph_of(two_blocks);
  const GpuSpec h200 = gpu();
  const plan::Context context(graph, h200, Numerics::standard);
  auto plan = plan::first_plan(context, catalogue());
  ASSERT_TRUE(plan);
  const std::string region = plan->regions[0].name;
  auto offers = [&](const std::string& first) {
    auto given = with_source(
        context, *plan, region,
        {.function = "f", .text = "__global__ void k() { " + first + " }\nint f() { return launch(k); }\n"});
    EXPECT_TRUE(given);
    auto program = write_program(context, *given);
    EXPECT_TRUE(program);
    return program->sources.contains("settings.h") &&
           program->sources.at("settings.h").find("programmatic_launches") != std::string::npos;
  };
  EXPECT_TRUE(offers("stitch::wait_for_previous_kernel();"));
  EXPECT_FALSE(offers("__syncthreads();"));
}

// A region that another graph computes with less.
struct Diagonal {
  Graph graph = graph_of(R"(graph "diagonal"
input %a : f32[48]
input %b : f32[48,64]
parameter %eye : f32[48,48]
%column = reshape(%a) shape=[48,1] : f32[48,1]
%scaled = mul(%column, %eye) : f32[48,48]
%y = matmul(%scaled, %b) : f32[48,64]
output %y
end
)");
  GpuSpec h200 = gpu();
  plan::Context context{graph, h200, Numerics::standard};
  plan::Plan first = *plan::first_plan(context, catalogue());
  plan::Plan plan = *plan::as_one_region(context, first, "forward", catalogue());

  Result<plan::Plan> with(std::string text) const {
    return with_source(context, plan, "forward", {.function = "enqueue_forward", .text = std::move(text)});
  }
  // With `from` replaced in a graph that fits.
  std::string said(const std::string& from = "", const std::string& to = "") const {
    std::string text =
        "graph \"any\"\ninput %b : f32[48,64]\ninput %a : f32[48]\n\n%rows = reshape(%a) shape=[48,1] : "
        "f32[48,1]\n%y = mul(%rows, %b) : f32[48,64]\n\noutput %y\nend\n";
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
  }
};

TEST(AGraphAsSource, IsWrittenByATechniqueOfTheCatalogue) {
  const Diagonal diagonal;
  auto given = diagonal.with(diagonal.said());
  ASSERT_TRUE(given) << given.error().text();
  EXPECT_EQ(given->regions[0].technique->name(), "written");
  // By position, so that it fits regions whose tensors have other names.
  EXPECT_TRUE(given->regions[0].source->text.starts_with("graph \"any\"\ninput %read0 : f32[48]\n"))
      << given->regions[0].source->text;
  auto again = diagonal.with(given->regions[0].source->text);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->regions[0].source->text, given->regions[0].source->text);
  EXPECT_TRUE(plan::check_whole(diagonal.context, *given));
  auto program = write_program(diagonal.context, *given);
  ASSERT_TRUE(program) << program.error().text();
  const std::string& region = program->sources.at("regions/forward.cu");
  EXPECT_NE(region.find("StitchStatus enqueue_forward("), std::string::npos) << region;
  EXPECT_EQ(region.find("eye"), std::string::npos) << region;
  EXPECT_LT(estimate_rewritten(diagonal.context, *given), plan::estimate(diagonal.context, diagonal.first));
}

TEST(AGraphAsSource, NamesATechniqueWithOfferAndKnobs) {
  const Example example;
  std::string text(graph_of_example());
  text.replace(text.find("example"), 7, "matmul.cublaslt by_class row_major algorithm=2");
  auto given = example.with(text);
  ASSERT_TRUE(given) << given.error().text();
  auto program = write_program(example.context, *given);
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_NE(program->sources.at("regions.h").find("const stitch::Matmul&"), std::string::npos);
  auto requests = requests_of(example.context, *given);
  ASSERT_TRUE(requests);
  auto same = rewriting_in(graph_of_region((*requests)[0]), (*requests)[0]);
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_EQ(same->leaves.size(), 3U);
}

TEST(AGraphAsSource, IsRefusedWithWhatDoesntFit) {
  const Diagonal diagonal;
  auto refused = [&](const std::string& from, const std::string& to) {
    auto given = diagonal.with(diagonal.said(from, to));
    return given ? std::string("accepted") : given.error().message;
  };
  EXPECT_EQ(refused("input %b : f32[48,64]\n", "input %b : f32[48,64]\ninput %c : f32[48]\n"),
            "the region has no tensor '%c': %a, %b, %eye");
  EXPECT_EQ(refused("%a : f32[48]", "%a : f32[48,1]"), "'%a' is f32[48], not f32[48,1]");
  EXPECT_EQ(refused("output %y", "output %y\noutput %rows"), "the region has 1 results, the graph 2");
  EXPECT_EQ(refused("output %y", "output %rows"), "'%rows' is f32[48,1], and the region's result f32[48,64]");
  EXPECT_EQ(refused("output %y", "output %b"), "each result is computed by a node of its own: '%b' isn't");
  EXPECT_NE(refused("any", "loops.nobody").find("there is no technique 'loops.nobody': these do: "),
            std::string::npos);
  EXPECT_NE(refused("any", "matmul.plain").find("these do: "), std::string::npos);
  EXPECT_NE(refused("any", "loop warp=3").find("has no 'warp=3' here"), std::string::npos);
}

}  // namespace
}  // namespace stitch::code
