// A plan is a document: written, read back to the byte, edited by hand, refused in words that say what to do.
#include "plan/document/document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "plan/steps.h"

namespace stitch::plan {
namespace {

constexpr const char* network = R"(graph "net"
parameter %w1 : f32[32,16,3,3]
parameter %w2 : f32[16,32,3,3]
parameter %b : f32[32]
input %x : f32[64,16,64,64]
%a = conv(%x, %w1, %b) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[64,32,64,64]
%r = relu(%a) : f32[64,32,64,64]
%c = conv(%r, %w2) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[64,16,64,64]
%s = sigmoid(%c) : f32[64,16,64,64]
%t = mul(%s, %c) : f32[64,16,64,64]
output %t
end
)";

class PlanDocument : public testing::Test {
 protected:
  PlanDocument()
      : graph(*parse_graph(network)), gpu(*find_gpu("H200")), context(graph, gpu, Numerics::standard) {}

  Plan made(bool rounding = true) const {
    auto plan = plan_of_steps(context, code::catalogue(),
                              [&](const StepRule& rule) { return rounding || !rule.rounds; });
    if (!plan) throw Bug(plan.error().text());
    return *std::move(plan);
  }
  Json document() const { return to_json(context, made()); }
  // The region that computes this node.
  static Json& region_of(Json& document, const char* node) {
    for (Json& region : document["regions"])
      for (const Json& each : region["nodes"])
        if (each == node) return region;
    throw Bug("no such node");
  }
  // "where: message / fix"
  std::string refusal(const Json& edited) const {
    auto premises = read_premises(edited, graph, gpu);
    if (!premises) return text_of(premises.error());
    auto plan = read_plan(edited, {graph, gpu, premises->numerics, premises->torch}, code::catalogue());
    return plan ? "accepted" : text_of(plan.error());
  }
  static std::string text_of(const Error& error) {
    return error.where + ": " + error.message + (error.fix.empty() ? "" : " / " + error.fix);
  }

  Graph graph;
  GpuSpec gpu;
  Context context;
};

TEST_F(PlanDocument, IsReadBackToTheByte) {
  for (bool rounding : {true, false}) {
    const Plan plan = made(rounding);
    const Json written = to_json(context, plan);
    auto read = read_plan(written, context, code::catalogue());
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(to_json(context, *read).dump(), written.dump());
    auto before = code::write_program(context, plan), after = code::write_program(context, *read);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(before->sources, after->sources);
  }
}

// A module with several regions gives all of them its name.
TEST_F(PlanDocument, TellsRegionsOfOneNameApart) {
  for (Node& node : graph.nodes) node.module = "block";
  auto plain = first_plan(context, code::catalogue());
  ASSERT_TRUE(plain) << plain.error().text();
  for (const Plan& plan : {*plain, made()}) {
    std::set<std::string> names;
    for (const Region& region : plan.regions) EXPECT_TRUE(names.insert(region.name).second) << region.name;
    const Json document = to_json(context, plan);
    auto again = read_plan(document, context, code::catalogue());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(to_json(context, *again), document);
  }
  EXPECT_GT(plain->regions.size(), 3u);
}

// Its weights are slices, made by a region that no convolution's gate is.
TEST(PlanDocumentOfARecurrence, IsReadBack) {
  const Graph graph = *parse_graph(R"(graph "steps"
parameter %w : f32[16,26]
parameter %b : f32[16]
input %x : f32[12,3,10]
input %h : f32[1,3,16]
%in = slice(%w) dim=1 start=0 end=10 : f32[16,10]
%state = slice(%w) dim=1 start=10 end=26 : f32[16,16]
%none = full() shape=[16] dtype=f32 value=0.0 : f32[16]
%y, %last = rnn(%x, %h, none, %in, %state, %b, %none) kind="tanh" : f32[12,3,16], f32[1,3,16]
output %y
end
)");
  const GpuSpec gpu = *find_gpu("H200");
  const Context context(graph, gpu, Numerics::standard);
  auto plan = make_plan(context, code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  auto again = read_plan(to_json(context, *plan), context, code::catalogue());
  ASSERT_TRUE(again) << again.error().text();
  auto contents = code::write_program(context, *again);
  EXPECT_TRUE(contents) << contents.error().text();
}

TEST_F(PlanDocument, KeepsWhatPyTorchWasSeenToDo) {
  const Context seen(graph, gpu, Numerics::tf32, {{{0, true}, {2, false}}});
  auto plan = make_plan(seen, code::catalogue());
  ASSERT_TRUE(plan);
  auto premises = read_premises(to_json(seen, *plan), graph, gpu);
  ASSERT_TRUE(premises) << premises.error().text();
  EXPECT_EQ(premises->numerics, Numerics::tf32);
  EXPECT_EQ(premises->torch.tf32, seen.torch.tf32);
}

// Another technique here, a fusion undone there, one layer in fp16.
TEST_F(PlanDocument, MayBeEdited) {
  Json edited = to_json(context, made(false));
  Json& second = region_of(edited, "c");
  ASSERT_EQ(second["technique"], "conv.cudnn_graph");
  second["technique"] = "conv.plain";
  second["order"] = "row_major";
  second["choices"] = Json::object();
  EXPECT_EQ(refusal(edited), "accepted");

  Json& first = region_of(edited, "a");
  if (first["nodes"].size() == 2) {  // conv and relu
    Json relu = first;
    first["nodes"] = {"a"};
    first["writes"] = {{{"value", "a"}, {"dtype", "f16"}}};
    relu["name"] = "own_relu";
    relu["technique"] = "loop";
    relu["arithmetic"] = "by_class";
    relu["order"] = "row_major";
    relu["choices"] = Json::object();
    relu["nodes"] = {"r"};
    relu["reads"] = first["writes"];
    edited["regions"].insert(edited["regions"].begin() + 1, relu);
  }
  Json& again = region_of(edited, "a");
  again["arithmetic"] = "half";
  again["order"] = "channels_last";
  EXPECT_EQ(refusal(edited), "accepted");
  auto plan = read_plan(edited, context, code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  auto program = code::write_program(context, *plan);
  EXPECT_TRUE(program) << program.error().text();
}

TEST_F(PlanDocument, IsRefusedInWordsThatSayWhatToDo) {
  auto edited = [&](auto change) {
    Json json = document();
    change(json);
    return refusal(json);
  };
  EXPECT_EQ(edited([](Json& json) { json["regions"].erase(0); }),
            "plan: region 'c_mul': reads 'r' before anyone has written it")
      << "first things first";
  EXPECT_NE(edited([](Json& json) {
              json["regions"].erase(json["regions"].size() - 1);
            }).find("is not in any region"),
            std::string::npos);
  EXPECT_EQ(edited([](Json& json) {
              Json twice = json["regions"][0];
              twice["name"] = "again";
              json["regions"].push_back(twice);
            }),
            "plan: region 'again': 'a' is covered twice");
  EXPECT_NE(edited([](Json& json) {
              region_of(json, "a")["technique"] = "conv.magic";
            }).find("there is no technique 'conv.magic' / one of: matmul.outer, "),
            std::string::npos);
  EXPECT_NE(edited([](Json& json) {
              region_of(json, "a")["technique"] = "matmul.cublaslt";
            }).find("matmul.cublaslt is for other nodes than these"),
            std::string::npos);
  auto by_cudnn = [](Json& json) -> Json& {
    Json& region = region_of(json, "a");
    region["technique"] = "conv.cudnn";
    region["order"] = "channels_last";
    return region["choices"];
  };
  EXPECT_NE(edited([&](Json& json) {
              by_cudnn(json)["speed"] = 9;
            }).find("conv.cudnn has no knob 'speed' / one of: algorithm, search"),
            std::string::npos);
  EXPECT_NE(
      edited([&](Json& json) { by_cudnn(json)["search"] = 7; }).find("search can't be 7 here / one of: 0, 1"),
      std::string::npos);
  EXPECT_NE(edited([](Json& json) {
              region_of(json, "c")["reads"][0]["dtype"] = "f64";
            }).find("write the same dtype and order on both sides"),
            std::string::npos);
  EXPECT_NE(edited([](Json& json) {
              for (const char* node : {"a", "c"})
                region_of(json, node)[node == std::string("a") ? "writes" : "reads"][0]["dtype"] = "i8";
            }).find("f32 may be stored as f16 or bf16"),
            std::string::npos);
  EXPECT_NE(edited([](Json& json) {
              std::swap(json["regions"].front(), json["regions"].back());
            }).find("before anyone has written it"),
            std::string::npos);
  EXPECT_NE(edited([](Json& json) { json["graph"] = "0"; }).find("another graph"), std::string::npos);
  EXPECT_NE(
      edited([](Json& json) { json["gpu"] = "A100 80GB SXM"; }).find("is for A100 80GB SXM, not for H200"),
      std::string::npos);
  EXPECT_NE(edited([](Json& json) { json["colour"] = 1; }).find("there is no 'colour' here"),
            std::string::npos);
  EXPECT_NE(edited([](Json& json) { json["regions"] = 5; }).find("plan: regions: a list is expected here"),
            std::string::npos);
  EXPECT_NE(edited([](Json& json) { json["class"] = "fast"; }).find("no numerics class 'fast'"),
            std::string::npos);
}

TEST_F(PlanDocument, HasASchemaOfAllTechniques) {
  const Json schema = plan_schema(code::catalogue());
  const Json& region = schema["properties"]["regions"]["items"]["properties"];
  EXPECT_EQ(region["technique"]["oneOf"].size(), code::catalogue().all().size());
  // Whatever is written is allowed, and whatever is required is written.
  const Json written = document();
  for (const auto& [key, value] : written.items()) EXPECT_TRUE(schema["properties"].contains(key)) << key;
  for (const Json& key : schema["required"]) EXPECT_TRUE(written.contains(key.get<std::string>())) << key;
  for (const auto& [key, value] : written["regions"][0].items()) EXPECT_TRUE(region.contains(key)) << key;
}

}  // namespace
}  // namespace stitch::plan
