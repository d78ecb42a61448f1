// What a maintainer sees in a generated program: names, lines of the model, shared kernels, headers.
#include "code/write_program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "plan/choose.h"
#include "plan/plain_plan.h"
#include "plan/steps.h"

namespace stitch {

namespace {

Graph graph_of(const std::string& text) {
  auto graph = parse_graph(text);
  if (!graph) throw Bug(graph.error().text());
  return *std::move(graph);
}

PackageContents program_of(const Graph& graph, const char* name = "H200") {
  const GpuSpec gpu = *find_gpu(name);
  const plan::Context context(graph, gpu, Numerics::standard);
  auto plan = plan::make_plan(context, code::catalogue());
  if (!plan) throw Bug(plan.error().text());
  auto contents = code::write_program(context, *plan);
  if (!contents) throw Bug(contents.error().text());
  return *std::move(contents);
}

std::vector<std::string> paths(const PackageContents& contents) {
  std::vector<std::string> out;
  for (const auto& [path, text] : contents.sources) out.push_back(path);
  return out;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

int count(const std::string& text, std::string_view part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// fc1 and fc2 differ in names alone; stem reads the caller's memory, head has another shape.
const char* const mlp = R"graph(graph "mlp"
parameter %stem.weight : f32[64,64]
parameter %stem.bias : f32[64]
parameter %fc1.weight : f32[64,64]
parameter %fc1.bias : f32[64]
parameter %fc2.weight : f32[64,64]
parameter %fc2.bias : f32[64]
parameter %head.weight : f32[32,64]
parameter %head.bias : f32[32]
input %x : f32[16,64]
%linear = linear(%x, %stem.weight, %stem.bias) : f32[16,64] @ "mlp.py:10, in forward: x = F.relu(self.stem(x))" "stem"
%relu = relu(%linear) : f32[16,64] @ "mlp.py:10, in forward: x = F.relu(self.stem(x))"
%linear_1 = linear(%relu, %fc1.weight, %fc1.bias) : f32[16,64] @ "mlp.py:11, in forward: x = F.relu(self.fc1(x))" "fc1"
%relu_1 = relu(%linear_1) : f32[16,64] @ "mlp.py:11, in forward: x = F.relu(self.fc1(x))"
%linear_2 = linear(%relu_1, %fc2.weight, %fc2.bias) : f32[16,64] @ "mlp.py:12, in forward: x = F.relu(self.fc2(x))" "fc2"
%relu_2 = relu(%linear_2) : f32[16,64] @ "mlp.py:12, in forward: x = F.relu(self.fc2(x))"
%linear_3 = linear(%relu_2, %head.weight, %head.bias) : f32[16,32] @ "mlp.py:13, in forward: return self.head(x)" "head"
output %linear_3
end
)graph";

}  // namespace

TEST(WriteProgram, ListsAreMadeOfInputsOfAnyName) {
  // A kernel can't call its pointer e, which math.h has; the program's own name for it stays.
  const std::string program = program_of(graph_of(R"(graph "edges"
input %e : i64[64,8]
input %x : f32[64,8]
%zeros = full() shape=[10,8] dtype=f32 value=0.0 : f32[10,8]
%y = scatter(%zeros, %e, %x) dim=0 reduce="mean" include_self=false : f32[10,8]
output %y
end
)"))
                                  .sources.at("program.cu");
  EXPECT_FALSE(has(program, "e_data")) << program;
}

TEST(WriteProgram, NamesComeFromTheModel) {
  const PackageContents contents = program_of(graph_of(mlp));
  std::vector<std::string> names;
  for (const ManifestRegion& region : contents.manifest.regions) names.push_back(region.name);
  EXPECT_EQ(names, (std::vector<std::string>{"stem_relu", "fc1_relu", "fc2_relu", "head"}));
  const std::string& program = contents.sources.at("program.cu");
  EXPECT_TRUE(has(program, "float* fc1_relu_out = nullptr;")) << program;
  EXPECT_FALSE(has(program, "enqueue_linear") || has(program, "* linear")) << program;
  EXPECT_TRUE(has(program, "    // mlp.py:12: x = F.relu(self.fc2(x))\n")) << program;
  EXPECT_TRUE(has(contents.sources.at("regions/head.cu"),
                  "// head: head (linear)\n//   mlp.py:13: return self.head(x)\n"))
      << contents.sources.at("regions/head.cu");
}

// The Planner decides: what can't be written as values are stored gets the fastest way that can be.
TEST(WriteProgram, ATechniqueThatCannotBeWrittenIsDeclined) {
  const Graph graph = graph_of(mlp);
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(graph, gpu, Numerics::standard);
  auto plan = plan::make_plan(context, code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  plan::Region& fc1 = plan->regions.at(1);
  fc1.technique = code::catalogue().find("matmul.split_half");
  fc1.choices.clear();
  plan->storage[index_of(fc1.reads.at(0))].dtype = DType::f16;
  const auto declined = code::write_program(context, *plan);
  ASSERT_FALSE(declined);
  EXPECT_TRUE(has(declined.error().text(), "matmul.split_half")) << declined.error().text();

  auto other = plan::replace_declined(context, *plan, {fc1.name}, code::catalogue());
  ASSERT_TRUE(other) << other.error().text();
  const plan::Technique& technique = *other->regions.at(1).technique;
  EXPECT_EQ(technique.kind(), plan::Kind::product);
  EXPECT_NE(technique.name(), "matmul.split_half");
  auto contents = code::write_program(context, *other);
  ASSERT_TRUE(contents) << contents.error().text();
  EXPECT_EQ(contents->manifest.regions.at(1).technique, technique.name());
}

// Layers of message passing: what groups the edges by their targets is made once a run; by a region alone,
// whenever that runs.
TEST(WriteProgram, ScattersBySameIndexShareTheirLists) {
  auto layers = [](const char* index) {
    std::string text = format(
        "graph \"messages\"\ninput %x : f32[40,64]\n{0} %from : i64[90]\n{0} %to : i64[90]\n"
        "parameter %w : f32[64,64]\n",
        index);
    std::string x = "%x";
    for (int i = 0; i < 3; ++i) {
      text += format(
          "%zeros{0} = full() shape=[40,64] dtype=f32 value=0.0 : f32[40,64]\n"
          "%g{0} = index({1}, %from) dims=[0] : f32[90,64]\n"
          "%p{0} = index_put(%zeros{0}, %g{0}, %to) dims=[0] accumulate=true : f32[40,64]\n"
          "%l{0} = linear(%p{0}, %w) : f32[40,64]\n",
          i, x);
      x = format("%l{}", i);
    }
    return program_of(graph_of(text + "output %l2\nend\n"));
  };
  const std::string by_input = layers("input").sources.at("program.cu");
  const size_t alone = by_input.find("int stitch_run_region");
  ASSERT_NE(alone, std::string::npos);
  EXPECT_EQ(count(by_input.substr(0, alone), "_lists("), 1) << by_input;
  EXPECT_EQ(count(by_input.substr(alone), "_lists("), 3) << by_input;
  // Edges that are a buffer of the model's: once, when the program is created.
  const std::string by_buffer = layers("buffer").sources.at("program.cu");
  const size_t pass = by_buffer.find("// One forward pass.");
  EXPECT_EQ(count(by_buffer.substr(0, pass), "_lists("), 1) << by_buffer;
  EXPECT_EQ(count(by_buffer.substr(pass), "_lists("), 0) << by_buffer;
}

TEST(WriteProgram, RegionsThatDifferInNamesShareAKernel) {
  const PackageContents contents = program_of(graph_of(mlp));
  EXPECT_EQ(paths(contents),
            (std::vector<std::string>{"manifest.cu", "program.cu", "regions.h", "regions/fc1_relu.cu",
                                      "regions/head.cu", "regions/stem_relu.cu", "settings.h"}));
  EXPECT_EQ(contents.manifest.regions[2].file, "regions/fc1_relu.cu");
  EXPECT_EQ(contents.manifest.regions[2].nodes, (std::vector<std::string>{"linear_2", "relu_2"}));
  const std::string& program = contents.sources.at("program.cu");
  EXPECT_TRUE(
      has(program, "enqueue_fc1_relu(fc1_relu_out, fc2_weight, fc2_relu_matmul, fc2_relu_out, stream)"))
      << program;
  EXPECT_FALSE(has(program, "enqueue_fc2_relu")) << program;
  // Members and settings stay each region's own.
  EXPECT_TRUE(has(program, "fc2_relu_matmul.create(cublas, spec)")) << program;
  EXPECT_EQ(contents.manifest.settings.size(), 5u);  // and one of the program's
}

// On unless the tuner turns them off, and not offered to GPUs that haven't got them.
TEST(WriteProgram, OffersProgrammaticLaunches) {
  const Graph graph = graph_of(mlp);
  const PackageContents contents = program_of(graph);
  const ManifestSetting expected{"programmatic_launches", "", {0, 1}, 1};
  EXPECT_EQ(contents.manifest.settings.back(), expected);
  const std::string& program = contents.sources.at("program.cu");
  EXPECT_EQ(count(program, "const stitch::ProgrammaticLaunches launches(programmatic_launches != 0);"), 1)
      << program;
  EXPECT_TRUE(has(program, "const int programmatic_launches = settings::programmatic_launches;")) << program;
  EXPECT_TRUE(has(contents.sources.at("manifest.cu"),
                  "stitch::Setting programmatic_launches(\"programmatic_launches\", {0, 1}, 1);"));

  const PackageContents older = program_of(graph, "A100 80GB SXM");
  EXPECT_FALSE(has(older.sources.at("program.cu"), "Programmatic")) << older.sources.at("program.cu");
}

// Values computed from weights and then packed share memory with the values of runs, one after the other, and
// the program keeps no copy of their weights.
TEST(WriteProgram, CreationAndRunsShareMemory) {
  const PackageContents contents = program_of(graph_of(R"graph(graph "net"
parameter %w1 : f32[64,64,1,1]
parameter %w2 : f32[64,64,1,1]
parameter %scale : f32[64,1,1,1]
input %x : f32[1,64,32,32]
%s1 = mul(%w1, %scale) : f32[64,64,1,1]
%s2 = mul(%w2, %scale) : f32[64,64,1,1]
%a = conv(%x, %s1) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[1,64,32,32]
%b = conv(%a, %s2) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[1,64,32,32]
output %b
end
)graph"));
  const auto program =
      std::ranges::find(contents.sources, "program.cu", [](const auto& source) { return source.first; });
  ASSERT_NE(program, contents.sources.end());
  const std::string& text = program->second;
  EXPECT_TRUE(has(text, "= stitch::data<const float>(params["));
  EXPECT_FALSE(has(text, "copy_weight")) << text;
  EXPECT_EQ(count(text, "_out\", 0, 4096, &"), 2) << text;
}

// A weight that two layers use is packed once, though one of them has an epilogue the other hasn't; what runs
// write stays each region's own.
TEST(WriteProgram, SharedWeightsArePackedOnce) {
  const PackageContents contents = program_of(graph_of(R"graph(graph "tied"
parameter %w : f32[2048,2048]
parameter %other : f32[2048,2048]
input %x : f32[1024,2048]
%a = linear(%x, %w) : f32[1024,2048] @ "" "first"
%s = softmax(%a) dim=1 : f32[1024,2048]
%b = linear(%s, %w) : f32[1024,2048] @ "" "second"
%e = exp(%b) : f32[1024,2048] @ "" "second"
%t = softmax(%e) dim=1 : f32[1024,2048]
%c = linear(%t, %other) : f32[1024,2048] @ "" "third"
output %c
end
)graph"));
  const std::string& text = contents.sources.at("program.cu");
  ASSERT_EQ(count(text, "STITCH_OK_OR_RETURN(pack_"), 2) << text;
  EXPECT_TRUE(has(text, "second_linear_exp_w_split = first_linear_w_split;  // packed already")) << text;
  EXPECT_EQ(count(text, "arena.place(\"first_linear_factors\""), 1) << text;
  EXPECT_EQ(count(text, "arena.place(\"second_linear_exp_factors\""), 1) << text;
}

// A convolution that writes patches for attention, after others in NHWC (MobileViT).
TEST(WriteProgram, PatchesBehindConvolutionsAreWritten) {
  const PackageContents contents = program_of(graph_of(R"graph(graph "patches"
parameter %w1 : f32[48,48,3,3]
parameter %w2 : f32[48,48,3,3]
parameter %w3 : f32[64,48,1,1]
parameter %w4 : f32[64,64]
parameter %g : f32[64]
parameter %h : f32[64]
input %x : f32[1,48,8,8]
%a = conv(%x, %w1) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[1,48,8,8]
%ra = silu(%a) : f32[1,48,8,8]
%b = conv(%ra, %w2) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[1,48,8,8]
%rb = silu(%b) : f32[1,48,8,8]
%c = conv(%rb, %w3) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[1,64,8,8]
%v = reshape(%c) shape=[64,4,2,4,2] : f32[64,4,2,4,2]
%p = permute(%v) dims=[2,4,1,3,0] : f32[2,2,4,4,64]
%r = reshape(%p) shape=[4,16,64] : f32[4,16,64]
%n = layer_norm(%r, %g, %h) : f32[4,16,64]
%l = linear(%n, %w4) : f32[4,16,64]
%m = add(%r, %l) : f32[4,16,64]
output %m
end
)graph"));
  EXPECT_GE(contents.manifest.regions.size(), 4u);
}

TEST(WriteProgram, AnAttributeIsNoName) {
  auto file_of_c = [](const std::string& shift) {
    Graph graph = graph_of(R"(graph "g"
input %x : f32[16,64]
%a = softmax(%x) dim=1 : f32[16,64]
%b = cumsum(%a) dim=1 : f32[16,64] @ "" "one"
%c = cumsum(%b) dim=)" + shift +
                           R"( : f32[16,64] @ "" "two"
%d = softmax(%c) dim=1 : f32[16,64]
output %d
end
)");
    const GpuSpec gpu = *find_gpu("H200");
    const plan::Context context(graph, gpu, Numerics::standard);
    auto plan = plan::plain_plan(context, code::catalogue());
    if (!plan) throw Bug(plan.error().text());
    auto contents = code::write_program(context, *plan);
    if (!contents) throw Bug(contents.error().text());
    return contents->manifest.regions[2].file;
  };
  EXPECT_EQ(file_of_c("1"), "regions/one_cumsum.cu");
  EXPECT_EQ(file_of_c("0"), "regions/two_cumsum.cu");
}

TEST(WriteProgram, IncludesWhatARegionNeeds) {
  const PackageContents contents = program_of(graph_of(mlp));
  for (const auto& [path, text] : contents.sources) EXPECT_FALSE(has(text, "#include <cuda_")) << path;
  const PackageContents half = program_of(
      graph_of("graph \"half\"\ninput %x : f16[16,64]\n%y = relu(%x) : f16[16,64]\noutput %y\nend\n"));
  EXPECT_TRUE(has(half.sources.at("regions/y.cu"), "#include <cuda_fp16.h>\n"));
  EXPECT_FALSE(has(half.sources.at("regions/y.cu"), "cuda_bf16"));
}

TEST(WriteProgram, HasNoLongLines) {
  std::string text = mlp;
  for (const std::string name : {"stem", "fc1", "fc2", "head"})
    for (size_t at = text.find("%" + name + "."); at != std::string::npos;
         at = text.find("%" + name + ".", at + 9))
      text.replace(at, name.size() + 1, "%encoder.layers.0.feed_forward.projection." + name);
  for (const auto& [path, source] : program_of(graph_of(text)).sources)
    for (const std::string& line : split(source, '\n')) EXPECT_LE(line.size(), 110u) << path << ": " << line;
}

TEST(RegionName, ComesFromTheModulesOfItsNodes) {
  Graph graph = graph_of(R"(graph "block"
parameter %conv.weight : f32[8,8,1,1] = "layer1.0.conv1.weight"
input %x : f32[2,8,4,4]
%c = conv(%x, %conv.weight) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,8,4,4] @ "" "layer1.0.conv1"
%r = relu(%c) : f32[2,8,4,4] @ "" "layer1.0.relu"
%a = add(%r, %x) : f32[2,8,4,4] @ "" "layer1.0"
%s = sigmoid(%a) : f32[2,8,4,4]
%l = sigmoid(%s) : f32[2,8,4,4] @ "" "a.module.in.a.module.in.a.module.with_a_long_name"
output %l
end
)");
  EXPECT_EQ(plan::region_name(graph, {0}), "layer1_0_conv1");
  EXPECT_EQ(plan::region_name(graph, {0, 1}), "layer1_0_conv1_relu");
  EXPECT_EQ(plan::region_name(graph, {0, 1, 2}), "layer1_0_conv1_add");
  EXPECT_EQ(plan::region_name(graph, {1}), "layer1_0_relu");
  EXPECT_EQ(plan::region_name(graph, {2}), "layer1_0_add");
  EXPECT_EQ(plan::region_name(graph, {3}), "s");
  EXPECT_EQ(plan::region_name(graph, {4}), "in_a_module_with_a_long_name_sigmoid");
}

}  // namespace stitch
