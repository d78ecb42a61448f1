#include "program/manifest.h"

#include <gtest/gtest.h>

#include "graph/text.h"

namespace stitch {
namespace {

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return *graph;
}

std::string names(const std::vector<ManifestTensor>& tensors) {
  std::string out;
  for (const ManifestTensor& tensor : tensors) {
    out += (out.empty() ? "" : " ") + tensor.role + ":" + tensor.name;
    if (!tensor.target.empty()) out += "->" + tensor.target;
  }
  return out;
}

TEST(Signature, DifferencesAreNamedAndNamesAreNone) {
  const Graph graph = graph_of(R"(graph "scale"
parameter %weight : f32[4]
input %x : f32[2, 4]

%y = mul(%x, %weight) : f32[2, 4]

output %y
end
)");
  Signature task = signature_of(graph), program = task;
  program.inputs[0].name = "data";
  EXPECT_EQ(difference(program, task), "");
  program.inputs[0].type.shape = {3, 4};
  EXPECT_EQ(difference(program, task),
            "input 0 is the input 'data' f32[3,4] in the program and the input 'x' f32[2,4] in the task");
  program.parameters.clear();
  EXPECT_EQ(difference(program, task), "the program has 0 parameters, the task has 1");
}

TEST(Signature, UpdatedBuffersThatAreReadAreStates) {
  Graph graph = graph_of(R"(graph "bn"
parameter %weight : f32[4]
parameter %unused : f32[4]
buffer %mean : f32[4]
buffer %count : i64[]
buffer %last : f32[4] = "stats.last"
input %x : f32[4]
seed %seed : i64[]

%sum = add(%x, %weight) : f32[4]
%moved = add(%mean, %sum) : f32[4]

output %sum
output %sum
update %mean = %moved
update %last = %sum
update %x = %moved
end
)");
  Signature signature = signature_of(graph);
  EXPECT_EQ(names(signature.parameters), "parameter:weight");
  EXPECT_EQ(names(signature.inputs), "input:x state:mean seed:seed");
  EXPECT_EQ(names(signature.outputs),
            "output:sum output:sum update:moved->mean update:sum->last update:moved->x");
  EXPECT_EQ(signature.inputs[1].data, "mean");
  EXPECT_EQ(signature.outputs[3].data, "stats.last");
  EXPECT_EQ(signature.outputs[4].data, "");
}

TEST(Signature, LeavesThatAreHandedOnAreRead) {
  Graph graph = graph_of(R"(graph "g"
input %x : f32[2]
parameter %table : f32[3]
buffer %a : f32[2]
buffer %b : f32[2]

output %table
update %a = %b
end
)");
  Signature signature = signature_of(graph);
  EXPECT_EQ(names(signature.parameters), "parameter:table buffer:b");
  EXPECT_EQ(names(signature.inputs), "input:x");
  EXPECT_EQ(names(signature.outputs), "output:table update:b->a");
}

Manifest sample() {
  Manifest manifest;
  manifest.name = "a \"quoted\" net\n";
  manifest.numerics = Numerics::tf32;
  manifest.signature.parameters = {{"w", "parameter", {DType::f32, {4, 3}}, "net.w", ""},
                                   {"c", "constant", {DType::bf16, {}}, "c", ""}};
  manifest.signature.inputs = {{"x", "input", {DType::f32, {2, 3}, {1, 2}}, "", ""},
                               {"mean", "state", {DType::f32, {3}}, "mean", ""},
                               {"seed", "seed", {DType::i64, {}}, "", ""}};
  manifest.signature.outputs = {{"y", "output", {DType::boolean, {2, 0}}, "", ""},
                                {"mean_2", "update", {DType::f32, {3}}, "mean", "mean"}};
  manifest.regions = {{"conv", "regions/conv.cu", "implicit gemm", {"conv2d", "relu"}, {}, {}}, {}};
  manifest.regions[0].reads = {{"x", {DType::f16, {2, 3, 4, 5}}, {0, 2, 3, 1}}};
  manifest.regions[1] = {"empty", "program.cu", "", {}, {}, {}};
  manifest.libraries = {"cublasLt", "cudnn"};
  manifest.architecture = "sm_90a";
  manifest.needs = "sm_80";
  manifest.settings = {{"conv.algorithm", "conv", {0, 1, 2}, 1}, {"threads", "", {64, 256}, 256}};
  return manifest;
}

TEST(Manifest, ParsesWhatItPrints) {
  std::string printed = print_manifest(sample());
  auto parsed = parse_manifest(printed);
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(*parsed, sample());
  EXPECT_EQ(print_manifest(*parsed), printed);
}

TEST(Manifest, PrintsEveryTensorOnALineOfItsOwn) {
  EXPECT_NE(print_manifest(sample()).find("\n    {\"name\":\"w\",\"role\":\"parameter\",\"dtype\":\"f32\","
                                          "\"shape\":[4,3],\"data\":\"net.w\"},\n"),
            std::string::npos)
      << print_manifest(sample());
}

struct Bad {
  const char* name;
  const char *find, *replace;  // in the good manifest below
  const char* message;
};

constexpr const char* good =
    R"({"stitch":1,"name":"n","class":"default",
"parameters":[{"name":"w","role":"parameter","dtype":"f32","shape":[4,3],"data":"w"}],
"inputs":[{"name":"x","role":"input","dtype":"f32","shape":[2,3],"strides":[1,2]}],
"outputs":[{"name":"y","role":"output","dtype":"f32","shape":[2]}],
"regions":[{"name":"r","file":"program.cu","technique":"t","nodes":["y"],"reads":[{"value":"x","dtype":"f32","shape":[2,3],"order":[1,0]}],"writes":[]}],
"libraries":["cudnn"],
"settings":[{"name":"r.algorithm","region":"r","values":[0,1,2],"value":1}]})";

std::string changed(std::string_view find, std::string_view replace) {
  std::string text = good;
  size_t at = text.find(find);
  EXPECT_NE(at, std::string::npos) << find;
  return text.replace(at, find.size(), replace);
}

class BadManifest : public testing::TestWithParam<Bad> {};

TEST_P(BadManifest, IsRefusedByField) {
  auto parsed = parse_manifest(changed(GetParam().find, GetParam().replace));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().text(), GetParam().message);
}

const Bad bad_manifests[] = {
    {"version", "\"stitch\":1", "\"stitch\":2",
     "manifest: stitch: 1 is expected here: the version of the manifest"},
    {"no_json", "\"stitch\":1", "stitch", "the manifest is not valid JSON near byte 2"},
    {"nested", "[4,3]", "[[[[[[[[[[[]]]]]]]]]]]", "the manifest is nested deeper than 8 levels"},
    {"number_for_text", "\"name\":\"n\"", "\"name\":3", "manifest: name: a text is expected here"},
    {"missing", "\"name\":\"w\",", "", "manifest: parameters[0].name: missing"},
    {"numerics", "\"default\"", "\"fast\"", "manifest: class: 'fast' is none of strict, default, tf32, half"},
    {"architecture", "\"class\"", "\"needs\":\"sm_80)\",\"class\"",
     "manifest: needs: 'sm_80)' is not an architecture such as sm_90a"},
    {"role", "\"input\",\"dtype\"", "\"update\",\"dtype\"",
     "manifest: inputs[0].role: 'update' is none of input, state, seed"},
    {"dtype", "\"f32\"", "\"f33\\u001b\"",
     "manifest: parameters[0].dtype: 'f33?' is no dtype (f64, f32, f16, bf16, i64, i32, i8, u8, bool)"},
    {"rank", "[4,3]", "[1,1,1,1,1,1,1,1,1]",
     "manifest: parameters[0].shape: 9 entries; at most 8 are allowed"},
    {"negative", "[4,3]", "[4,-3]",
     "manifest: parameters[0].shape[1]: a whole number from 0 to 281474976710656 is expected here"},
    {"fraction", "[4,3]", "[4,3.0]",
     "manifest: parameters[0].shape[1]: a whole number from 0 to 281474976710656 is expected here"},
    {"huge", "[4,3]", "[281474976710656,2]",
     "manifest: parameters[0].shape: [281474976710656,2] has too many elements"},
    {"strides", "\"strides\":[1,2]", "\"strides\":[1]",
     "manifest: inputs[0].strides: [1] can't be the strides of [2,3]"},
    {"far_strides", "\"strides\":[1,2]", "\"strides\":[1,281474976710656]",
     "manifest: inputs[0].strides: [1,281474976710656] can't be the strides of [2,3]"},
    {"target", "\"role\":\"output\"", "\"role\":\"update\"",
     "manifest: outputs[0].target: an update has a target, and nothing else does"},
    {"order", "[1,0]", "[1,1]", "manifest: regions[0].reads[0].order: [1,1] is no order of the 2 dimensions"},
    {"outside", "program.cu", "../program.cu",
     "manifest: regions[0].file: '../program.cu' is no file of the package"},
    {"library", "\"cudnn\"", "\"cuda\"", "manifest: libraries[0]: 'cuda' is none of cublas, cublasLt, cudnn"},
    {"unknown_field", "\"technique\"", "\"techniqe\"",
     "manifest: regions[0].techniqe: no such field; did you mean 'technique'?"},
    {"setting_of_nobody", "\"region\":\"r\"", "\"region\":\"s\"",
     "manifest: settings[0].region: there is no region 's'"},
    {"setting_below", "[0,1,2]", "[0,1,-2]",
     "manifest: settings[0].values[2]: a whole number from 0 to 2147483647 is expected here"},
    {"setting_twice", "[0,1,2]", "[0,1,1]", "manifest: settings[0].values: the same value twice"},
    {"setting_values", "[0,1,2]", "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]",
     "manifest: settings[0].values: 17 entries; at most 16 are allowed"},
    {"setting_value", "\"value\":1", "\"value\":3", "manifest: settings[0].value: 3 is none of its values"},
    {"setting_name", "\"value\":1}]",
     "\"value\":1},{\"name\":\"r.algorithm\",\"region\":\"r\",\"values\":[0],\"value\":0}]",
     "manifest: settings[1].name: there are two of this name"},
    {"no_list", "\"writes\":[]", "\"writes\":{}", "manifest: regions[0].writes: a list is expected here"},
};
INSTANTIATE_TEST_SUITE_P(All, BadManifest, testing::ValuesIn(bad_manifests),
                         [](const auto& info) { return info.param.name; });

TEST(Manifest, RefusesManyKeysQuickly) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += format("\"{}\":0,", i);
  text.back() = '}';
  EXPECT_FALSE(parse_manifest(text));
}

// Two sizes, and shapes as formulas of them.
std::string sized_manifest(const std::string& sizes, const std::string& shape) {
  return R"({"stitch": 1, "name": "m", "class": "default", "parameters": [], "regions": [], "libraries": [],
    "sizes": [)" +
         sizes + R"(],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": ["batch", "length", 8]}],
    "outputs": [{"name": "y", "role": "output", "dtype": "f32", "shape": )" +
         shape + "}]}";
}
const char* const two_sizes =
    R"({"name": "batch", "least": 1, "most": 64, "multiple": 1, "places": [[0, 0]], "example": 4},
       {"name": "length", "least": 2, "most": 512, "multiple": 2, "places": [[0, 1]], "example": 32})";

TEST(Manifest, ShapesAreFormulasOfSizes) {
  auto manifest = parse_manifest(sized_manifest(two_sizes, R"_(["batch * (length / 2)", 16])_"));
  ASSERT_TRUE(manifest) << manifest.error().text();
  EXPECT_EQ(manifest->signature.outputs[0].type.shape, (Shape{64, 16}));
  EXPECT_EQ(*parse_manifest(print_manifest(*manifest)), *manifest);
  ASSERT_TRUE(manifest->set_sizes({{"batch", 3}, {"length", 10}}));
  EXPECT_EQ(manifest->signature.inputs[0].type.shape, (Shape{3, 10, 8}));
  EXPECT_EQ(manifest->signature.outputs[0].type.shape, (Shape{15, 16}));
  EXPECT_FALSE(manifest->set_sizes({{"batch", 65}, {"length", 10}}));
  EXPECT_FALSE(manifest->set_sizes({{"batch", 3}, {"length", 11}}));
  EXPECT_FALSE(manifest->set_sizes({{"batch", 3}}));
}

TEST(Manifest, SizesOfACallAreReadFromItsInputs) {
  auto manifest = parse_manifest(sized_manifest(two_sizes, R"(["batch"])"));
  Signature call = manifest->signature;
  call.inputs[0].type.shape = {5, 64, 8};
  EXPECT_EQ(*sizes_shown(*manifest, call), (Sizes{{"batch", 5}, {"length", 64}}));
  call.inputs[0].type.shape = {5, 63, 8};
  EXPECT_NE(sizes_shown(*manifest, call).error().message.find("length is 63, outside of length=2..512 by 2"),
            std::string::npos);
}

TEST(Manifest, MistakesInSizesAreNamed) {
  auto message = [](const std::string& sizes, const std::string& shape) {
    auto manifest = parse_manifest(sized_manifest(sizes, shape));
    return manifest ? "accepted" : manifest.error().text();
  };
  EXPECT_NE(message(two_sizes, R"(["width"])").find("there is no size 'width'"), std::string::npos);
  EXPECT_NE(message(two_sizes, R"(["batch -"])").find("a number or a name is expected"), std::string::npos);
  EXPECT_NE(message(two_sizes, R"(["batch - 9"])").find("is -5"), std::string::npos);
  EXPECT_NE(message(two_sizes, R"(["batch * 99999999999999"])").find("is 399999999999996 with"),
            std::string::npos);
  EXPECT_NE(message("", R"([8])").find("there is no size 'batch'"), std::string::npos);
  auto size = [](const char* rest) {
    return std::string(R"({"name": "batch", "multiple": 1, )") + rest + "}";
  };
  EXPECT_NE(message(size(R"("least": 1, "most": 4, "places": [[1, 0]], "example": 1)"), "[8]")
                .find("an input and one"),
            std::string::npos);
  EXPECT_NE(
      message(size(R"("least": 5, "most": 4, "places": [[0, 0]], "example": 5)"), "[8]").find("is no range"),
      std::string::npos);
  EXPECT_NE(
      message(size(R"("least": 1, "most": 4, "places": [], "example": 1)"), "[8]").find("no input shows"),
      std::string::npos);
}

}  // namespace
}  // namespace stitch
