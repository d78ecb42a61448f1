// Precision as a budget: synthetic errors and times in, who loses bits out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/text.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "plan/choose.h"
#include "plan/document/document.h"
#include "plan/precision/error_budget.h"
#include "plan/precision/half_budget.h"
#include "plan/regions/fusion.h"
#include "plan/regions/layouts.h"
#include "plan/steps.h"
#include "plan/testdata/planned.h"

namespace stitch::plan {

namespace {

double gain_of(const std::vector<Expense>& all, const std::vector<size_t>& taken) {
  double out = 0;
  for (size_t i : taken) out += all[i].gain;
  return out;
}

std::vector<double> sums_of(const std::vector<Expense>& all, const std::vector<size_t>& taken,
                            size_t groups) {
  std::vector<double> out(groups);
  for (size_t i : taken)
    for (size_t g = 0; g < groups; ++g) out[g] += all[i].cost[g];
  return out;
}

std::vector<Expense> random_expenses(std::mt19937& random, size_t count, size_t groups) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Expense> out(count);
  for (Expense& each : out) {
    each.gain = uniform(random);
    for (size_t g = 0; g < groups; ++g) each.cost.push_back(std::pow(uniform(random), 3));
  }
  return out;
}

// Four convolutions with a shortcut around two of them.
const char* residual = R"(graph "residual"
parameter %w0 : f32[64,64,3,3]
parameter %w1 : f32[64,64,3,3]
parameter %w2 : f32[64,64,3,3]
parameter %w3 : f32[64,64,1,1]
input %x : f32[16,64,56,56]
%c0 = conv(%x, %w0) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[16,64,56,56]
%r0 = relu(%c0) : f32[16,64,56,56]
%c1 = conv(%r0, %w1) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[16,64,56,56]
%r1 = relu(%c1) : f32[16,64,56,56]
%c2 = conv(%r1, %w2) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[16,64,56,56]
%a = add(%c2, %r0) : f32[16,64,56,56]
%r2 = relu(%a) : f32[16,64,56,56]
%c3 = conv(%r2, %w3) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[16,64,56,56]
output %c3
end
)";

MeasuredErrors::Place place(double square) {
  return {.groups = {{square, square, 64 * square, 1}}, .largest = 0};
}

// Every value and operand of the graph the same.
MeasuredErrors even_errors(const Graph& graph, double square) {
  MeasuredErrors out{.groups = {"output_0"}, .pytorch = {0.25}, .values = {}, .products = {}};
  for (const Value& value : graph.values) out.values[value.name] = place(square);
  for (const Node& node : graph.nodes)
    if (is_convolution(node.op))
      out.products[graph[node.results[0]].name] = {"", {place(square), place(square)}};
  return out;
}

struct Planned {
  Graph graph = *parse_graph(residual);
  std::optional<Context> context;

  explicit Planned(const MeasuredErrors& errors, bool as_pytorch = false,
                   std::map<int32_t, bool> tf32 = {{0, true}, {2, true}, {4, true}, {7, true}}) {
    ReferenceFacts facts{.tf32 = std::move(tf32),
                         .errors = std::make_shared<const MeasuredErrors>(errors),
                         .as_pytorch = as_pytorch};
    if (errors.groups.empty()) facts.errors.reset();
    context.emplace(graph, h200(), Numerics::standard, std::move(facts));
  }
  Plan after(std::initializer_list<Result<Plan> (*)(const Context&, Plan, const Catalogue&)> steps) const {
    Plan plan = *first_plan(*context, code::catalogue());
    for (auto step : steps) {
      auto next = step(*context, plan, code::catalogue());
      if (!next) throw Bug(next.error().text());
      if (auto good = check(graph, *next); !good) throw Bug(good.error().text());
      plan = *std::move(next);
    }
    return plan;
  }
  Plan half() const { return after({choose_techniques, fuse_loops, store_half_within_budget}); }
  DType stored(const Plan& plan, const char* value) const {
    return plan.storage[index_of(graph.find(value))].dtype;
  }
};

Graph parsed() { return *parse_graph(residual); }

int halves(const Plan& plan) {
  return static_cast<int>(std::ranges::count_if(
      plan.regions, [](const Region& region) { return region.offer.rounds_to_half(); }));
}

}  // namespace

TEST(Spending, GainsTheMostThatTheLimitAllows) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    const size_t count = 10;
    const std::vector<Expense> all = random_expenses(random, count, 1);
    const double limit = 0.1 + 0.03 * round;
    const std::vector<size_t> taken = choose_spending(all, {limit});
    EXPECT_LE(sums_of(all, taken, 1)[0], limit);
    double best = 0, best_with_room = 0;
    for (size_t set = 0; set < (size_t{1} << count); ++set) {
      std::vector<size_t> some;
      for (size_t i = 0; i < count; ++i)
        if (set >> i & 1) some.push_back(i);
      const double sum = sums_of(all, some, 1)[0];
      if (sum <= limit) best = std::max(best, gain_of(all, some));
      if (sum <= 0.99 * limit) best_with_room = std::max(best_with_room, gain_of(all, some));
    }
    EXPECT_LE(gain_of(all, taken), best + 1e-12);
    EXPECT_GE(gain_of(all, taken), best_with_room - 1e-12);
  }
}

TEST(Spending, IsNeverOverAndNeverLessForMore) {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    const std::vector<Expense> all = random_expenses(random, 60, 3);
    double before = 0;
    for (double limit : {0.0, 0.01, 0.05, 0.2, 0.5, 1.0, 3.0, 100.0}) {
      const std::vector<size_t> taken = choose_spending(all, {limit, 2 * limit, 3 * limit});
      const std::vector<double> sums = sums_of(all, taken, 3);
      for (size_t g = 0; g < 3; ++g) EXPECT_LE(sums[g], static_cast<double>(g + 1) * limit);
      EXPECT_GE(gain_of(all, taken), before);
      before = gain_of(all, taken);
    }
    EXPECT_EQ(choose_spending(all, {1e9, 1e9, 1e9}).size(), all.size());
  }
}

// One kind of inputs is hard on the first half, another on the second.
TEST(Spending, AddsGroupsUpOneByOne) {
  const std::vector<Expense> all = {{1, {0.5, 0.01}}, {1, {0.49, 0.01}}, {1, {0.01, 0.5}}, {1, {0, 0.49}}};
  EXPECT_EQ(choose_spending(all, {1, 1.01}), (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(choose_spending(all, {1, 0.55}).size(), 3u);
}

TEST(Spending, LeavesAloneWhatIsNoNumber) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const std::vector<Expense> all = {{1, {nan}}, {1, {infinity}}, {nan, {0.1}}, {1, {-1}}, {infinity, {0.1}},
                                    {0, {0.1}}, {-1, {0}},       {1, {}},      {1, {0}},  {1, {0.5}}};
  EXPECT_EQ(choose_spending(all, {1}), (std::vector<size_t>{8, 9}));
  EXPECT_EQ(choose_spending(all, {nan}), (std::vector<size_t>{8}));
  EXPECT_EQ(choose_spending(all, {-1}), (std::vector<size_t>{8}));
  EXPECT_TRUE(choose_spending({}, {1}).empty());
}

TEST(MeasuredErrors, AreReadAsTheyWereWritten) {
  const MeasuredErrors errors = even_errors(parsed(), 0.001);
  auto read = measured_errors(to_json(errors));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, errors);
  Json broken = to_json(errors);
  broken["values"]["c0"]["shares"][0][1] = nullptr;  // what JSON makes of a NaN
  read = measured_errors(broken);
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(read->values.at("c0").groups[0].f16));
  broken["values"]["c0"]["shares"] = Json::array();
  EXPECT_FALSE(measured_errors(broken));
  EXPECT_FALSE(measured_errors(Json::array()));
  EXPECT_FALSE(measured_errors(Json{{"groups", 1}, {"values", 2}, {"products", 3}}));
}

TEST(MeasuredErrors, FindProductsByModuleWhereNamesChanged) {
  MeasuredErrors errors{.groups = {"output_0"}, .pytorch = {0.25}, .values = {}, .products = {}};
  errors.products["conv2d"] = {"layer1.conv", {place(1)}};
  errors.products["conv2d_1"] = {"twice", {place(2)}};
  errors.products["conv2d_2"] = {"twice", {place(3)}};
  EXPECT_EQ(errors.product("conv2d_1", "layer1.conv")->operands[0], place(2));
  EXPECT_EQ(errors.product("folded", "layer1.conv")->operands[0], place(1));
  EXPECT_EQ(errors.product("folded", "twice"), nullptr);
  EXPECT_EQ(errors.product("folded", ""), nullptr);
}

TEST(HalfBudget, TakesEverythingWhereErrorsAreSmall) {
  const Planned planned(even_errors(parsed(), 1e-6));
  const Plan plan = planned.half();
  EXPECT_EQ(halves(plan), 4);
  for (const char* value : {"r0", "r1", "r2"}) EXPECT_EQ(planned.stored(plan, value), DType::f16) << value;
  const auto errors = errors_of(*planned.context, plan);
  ASSERT_TRUE(errors);
  EXPECT_TRUE(errors->unknown.empty());
  double shares = 0;
  for (size_t r = 0; r < plan.regions.size(); ++r) shares += errors->share(r);
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_LT(errors->spent(), 0.85);
  // Without measurements this step does nothing, and the others do.
  const Planned unmeasured(MeasuredErrors{});
  EXPECT_EQ(halves(unmeasured.half()), 0);
  EXPECT_EQ(halves(unmeasured.after({choose_techniques, fuse_loops, store_half})), 4);
  EXPECT_EQ(halves(planned.after({choose_techniques, fuse_loops, store_half})), 4);
}

TEST(HalfBudget, TakesAllOrNothingUpToTheWholeBudget) {
  auto spent_by_all = [](double square) {
    MeasuredErrors errors = even_errors(parsed(), square);
    errors.kinds = 3;
    const Planned planned(errors);
    const Plan plan = planned.after({choose_techniques, fuse_loops, store_half});
    return std::pair(halves(plan), errors_of(*planned.context, plan)->spent());
  };
  const double whole = 1e-4 / std::pow(spent_by_all(1e-4).second, 2);  // takes all of the budget
  const auto [most, nearly] = spent_by_all(0.95 * whole);
  EXPECT_EQ(most, 4);
  EXPECT_GT(nearly, 0.95);
  EXPECT_EQ(spent_by_all(1.05 * whole).first, 0);
  MeasuredErrors errors = even_errors(parsed(), 1e-6);
  errors.values["r2"].largest = 60000;
  EXPECT_EQ(halves(Planned(errors).after({choose_techniques, fuse_loops, store_half})), 0);
}

TEST(MeasuredErrors, OfAProductWhoseBiasStandsApartAreThoseOfTheirSum) {
  const Graph graph = *parse_graph(R"(graph "apart"
parameter %w : f32[8,8,3,3]
parameter %b : f32[1,8,1,1]
input %x : f32[2,8,9,9]
%y_product = conv_transpose(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] output_padding=[0,0] : f32[2,8,9,9]
%y = add(%y_product, %b) : f32[2,8,9,9]
%z = add(%y, %x) : f32[2,8,9,9]
output %z
end
)");
  MeasuredErrors errors{.groups = {"output_0"}, .pytorch = {0.25}, .values = {}, .products = {}};
  EXPECT_EQ(measured_value(errors, graph, graph.find("y_product")), nullptr);
  errors.values["z"] = place(2);
  EXPECT_EQ(measured_value(errors, graph, graph.find("y")), nullptr) << "a shortcut is no bias";
  errors.values["y"] = place(1);
  ASSERT_NE(measured_value(errors, graph, graph.find("y_product")), nullptr);
  EXPECT_EQ(*measured_value(errors, graph, graph.find("y_product")), place(1));
}

TEST(MeasuredErrors, OfACopyAreThoseOfWhatItCopies) {
  auto graph = parse_graph(
      "graph \"g\"\ninput %x : f32[2,8]\n\n%c = cast(%x) dtype=f32 : f32[2,8]\n%y = relu(%c) : "
      "f32[2,8]\n\noutput %y\nend\n");
  ASSERT_TRUE(graph) << graph.error().text();
  MeasuredErrors errors{.groups = {"output_0"}, .pytorch = {0.25}, .values = {}, .products = {}};
  EXPECT_EQ(measured_value(errors, *graph, graph->find("c")), nullptr);
  errors.values["x"] = {.groups = {{.f16 = 0.5}}, .largest = 1};
  ASSERT_NE(measured_value(errors, *graph, graph->find("c")), nullptr);
  EXPECT_EQ(measured_value(errors, *graph, graph->find("c"))->groups[0].f16, 0.5);
}

TEST(MeasuredErrors, OfRoundingsThatPyTorchDoesTooAreNoMoreThanItsOwn) {
  const std::map<int32_t, bool> seen = {{0, true}, {2, true}, {4, false}};
  MeasuredErrors errors = even_errors(parsed(), 0.25);  // four operands: four times PyTorch's error of 0.25
  const MeasuredErrors held = held_to_pytorch(errors, parsed(), seen);
  for (const char* name : {"c0", "c1"}) {
    EXPECT_DOUBLE_EQ(held.products.at(name).operands[1].groups[0].tf32, 0.0625) << name;
    EXPECT_DOUBLE_EQ(held.products.at(name).operands[1].groups[0].f16, 0.0625) << name;
  }
  EXPECT_EQ(held.products.at("c2"), errors.products.at("c2"));
  EXPECT_EQ(held.values, errors.values);
  errors = even_errors(parsed(), 0.001);
  EXPECT_EQ(held_to_pytorch(errors, parsed(), seen), errors);
}

TEST(HalfBudget, KeepsTheBitsOfWhatCostsTooMuch) {
  // The shortcut's value is dear, but the convolution that reads it rounds it for itself, cheaply.
  MeasuredErrors errors = even_errors(parsed(), 1e-6);
  errors.values["r0"] = place(0.9);
  const Planned planned(errors);
  const Plan plan = planned.half();
  EXPECT_EQ(planned.stored(plan, "r0"), DType::f32);
  EXPECT_EQ(planned.stored(plan, "r1"), DType::f16);
  EXPECT_GE(halves(plan), 3);
  EXPECT_LT(errors_of(*planned.context, plan)->spent(), 0.85);
}

TEST(HalfBudget, StaysWithinTheBudgetWhateverTheErrorsAre) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    MeasuredErrors errors = even_errors(parsed(), 0);
    std::lognormal_distribution<double> squares(-5, 2);
    for (auto& [name, each] : errors.values) each = place(squares(random));
    for (auto& [name, product] : errors.products)
      for (auto& operand : product.operands) operand = place(0.1 * squares(random));
    const Planned planned(errors);
    const Plan before = planned.after({choose_techniques, fuse_loops}), after = planned.half();
    const double most = std::max(0.8486, errors_of(*planned.context, before)->spent());
    EXPECT_LE(errors_of(*planned.context, after)->spent(), most + 1e-9) << round;
  }
}

// What the task's own inputs hide another kind shows; if others weren't measured, there is room for them.
TEST(HalfBudget, HoldsForEveryKindOfInputs) {
  MeasuredErrors errors = even_errors(parsed(), 0.02);
  errors.values["r1"] = place(0.05);
  errors.values["r2"] = place(0.4);
  EXPECT_LE(errors_of(*Planned(errors).context, Planned(errors).half())->spent(), 0.7072);
  EXPECT_EQ(Planned(errors).stored(Planned(errors).half(), "r1"), DType::f16);
  errors.kinds = 4;
  EXPECT_GT(errors_of(*Planned(errors).context, Planned(errors).half())->spent(), 0.7072);
  errors.groups.emplace_back("output_0, sparse inputs");
  errors.pytorch.push_back(0.25);
  for (auto& [name, each] : errors.values) each.groups.push_back(place(name == "r1" ? 0.9 : 1e-6).groups[0]);
  for (auto& [name, product] : errors.products)
    for (auto& operand : product.operands) operand.groups.push_back(place(1e-6).groups[0]);
  EXPECT_EQ(Planned(errors).stored(Planned(errors).half(), "r1"), DType::f32);
  EXPECT_GE(halves(Planned(errors).half()), 3);
}

TEST(HalfBudget, NeverRoundsWhatWasNotMeasured) {
  MeasuredErrors errors = even_errors(parsed(), 1e-6);
  errors.values.erase("r1");
  errors.values["r2"].largest = 60000;  // twice that is infinite in fp16
  const Planned planned(errors);
  const Plan plan = planned.half();
  EXPECT_EQ(planned.stored(plan, "r1"), DType::f32);
  EXPECT_EQ(planned.stored(plan, "r2"), DType::f32);
  errors.values["r0"] = place(std::nan(""));
  EXPECT_EQ(Planned(errors).stored(Planned(errors).half(), "r0"), DType::f32);
}

TEST(Rounding, SpendsOnTf32WherePyTorchHasNone) {
  const std::map<int32_t, bool> seen = {{0, true}, {2, true}, {4, true}, {7, false}};
  MeasuredErrors errors = even_errors(parsed(), 0.001);
  EXPECT_TRUE(Planned(errors, false, seen).context->rounding.may_lose_bits(7));
  // ResNet's shortcuts: most of what TF32 everywhere would cost, and PyTorch does them in FP32.
  errors.products["c3"].operands[1] = place(2);
  const Planned dear(errors, false, seen);
  EXPECT_FALSE(dear.context->rounding.may_lose_bits(7));
  EXPECT_TRUE(dear.context->rounding.must_be_exact(7));
  const Plan plan = dear.after({choose_techniques});
  for (const Region& region : plan.regions)
    if (const Node* node = convolution_in(dear.graph, region)) {
      EXPECT_EQ(region.technique->operand_precision(*dear.context, region),
                dear.graph.number_of(*node) == 7 ? Precision::f32 : Precision::tf32);
    }
  EXPECT_NE(blame(*dear.context, plan), "");
}

TEST(AsPyTorch, RoundsExactlyWherePyTorchDoes) {
  const Planned planned(MeasuredErrors{}, true, {{0, false}, {2, true}, {4, true}, {7, false}});
  auto plan = make_plan(*planned.context, code::catalogue());
  ASSERT_TRUE(plan);
  int convolutions = 0;
  for (const Region& region : plan->regions)
    if (const Node* node = convolution_in(planned.graph, region)) {
      const int32_t n = planned.graph.number_of(*node);
      EXPECT_EQ(region.technique->operand_precision(*planned.context, region),
                n == 2 || n == 4 ? Precision::tf32 : Precision::f32)
          << region.name << " by " << region.technique->name();
      ++convolutions;
    }
  EXPECT_EQ(convolutions, 4);
  for (const Storage& storage : plan->storage) EXPECT_EQ(storage.dtype, DType::f32);
  for (const Step& step : plan->steps) EXPECT_FALSE(step.title.starts_with("half")) << step.title;
}

TEST(HalfBudget, ShowsInTheDocument) {
  const Planned planned(even_errors(parsed(), 1e-4));
  const Plan plan = planned.half();
  const Json document = to_json(*planned.context, plan);
  EXPECT_GT(document.at("error").at("spent").get<double>(), 0);
  EXPECT_EQ(document.at("error").at("of"), "output_0");
  double shares = 0;
  for (const Json& region : document.at("regions")) shares += region.at("error_share").get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_NE(text(*planned.context, plan, {}).find("of what the class allows"), std::string::npos);
  EXPECT_FALSE(to_json(*Planned(MeasuredErrors{}).context, plan).contains("error"));
}

}  // namespace stitch::plan
