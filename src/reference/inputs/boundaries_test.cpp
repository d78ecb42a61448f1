#include "reference/inputs/boundaries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/text.h"

namespace stitch::verifier {

namespace {

Boundaries boundaries_in(const std::string& nodes) {
  auto graph = parse_graph("graph \"g\"\ninput %x : f32[4,8]\n" + nodes + "output %y\nend\n");
  EXPECT_TRUE(graph) << graph.error().text();
  return graph ? boundaries_of(*graph) : Boundaries{};
}

const Planted* planted(const Boundaries& boundaries, std::string_view kind) {
  const auto found = boundaries.find(kind);
  return found == boundaries.end() || found->second.empty() ? nullptr : &found->second.begin()->second;
}

bool has(const Planted* planted, double value) {
  return planted && std::ranges::any_of(planted->values, [&](double one) {
           return std::fabs(one - value) <= 1e-9 * std::fabs(value);
         });
}

}  // namespace

TEST(Boundaries, AreReachedThroughWhatCanBeUndone) {
  const Boundaries found = boundaries_in(R"(%two = full() shape=[] dtype=f32 value=2.0 : f32[]
%a = mul(%x, %two) : f32[4,8]
%b = exp(%a) : f32[4,8]
%y = clamp(%b) low=-1.0 high=100.0 : f32[4,8]
)");
  EXPECT_TRUE(has(planted(found, "bounds"), std::log(100.0) / 2));
  EXPECT_FALSE(planted(found, "bounds below zero")) << "an exponential is never -1";
}

TEST(Boundaries, BelowZeroAreAKindOfTheirOwn) {
  const Boundaries found = boundaries_in("%y = round(%x) : f32[4,8]\n");
  EXPECT_TRUE(has(planted(found, "whole numbers"), 2.5));
  EXPECT_TRUE(has(planted(found, "whole numbers below zero"), -0.5));
  for (double value : planted(found, "whole numbers")->values) EXPECT_GE(value, 0);
}

TEST(Boundaries, OfSumsOfInputsAreExactWhereTheOtherIsNeutral) {
  auto graph = parse_graph(R"(graph "g"
input %x : f32[4,8]
input %z : f32[4,8]
%s = sub(%x, %z) : f32[4,8]
%y = floor(%s) : f32[4,8]
output %y
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const Boundaries found = boundaries_of(*graph);
  for (const char* kind : {"whole numbers", "whole numbers below zero"}) {
    ASSERT_TRUE(found.contains(kind));
    EXPECT_TRUE(has(&found.at(kind).at(graph->find("z")), 0)) << kind;
  }
  EXPECT_TRUE(has(&found.at("whole numbers below zero").at(graph->find("x")), -2));
}

TEST(Boundaries, OfAMaximumAreSizesOfItsRow) {
  const Boundaries found = boundaries_in(R"(%m = amax(%x) dims=[1] keepdim=true : f32[4,1]
%y = clamp(%m) low=1e-8 : f32[4,1]
)");
  ASSERT_TRUE(planted(found, "sizes"));
  EXPECT_LT(planted(found, "sizes")->largest, 1e-6);
}

// An ignored class, a word that pads: exactly these, since what isn't one of them is looked up.
TEST(Boundaries, OfIntegersAreWhatTheyAreComparedWith) {
  auto graph = parse_graph(R"(graph "g"
input %t : i64[4]
input %w : i64[4]
parameter %table : f32[9,2]
%ignored = full() shape=[] dtype=i64 value=-1.0 : i64[]
%padding = full() shape=[] dtype=i64 value=3.0 : i64[]
%never = full() shape=[] dtype=i64 value=40.0 : i64[]
%kept = ne(%t, %ignored) : bool[4]
%zero = full() shape=[] dtype=i64 value=0.0 : i64[]
%class = where(%kept, %t, %zero) : i64[4]
%a = index(%table, %class) dims=[0] : f32[4,2]
%pads = eq(%w, %padding) : bool[4]
%beyond = ge(%w, %never) : bool[4]
%b = index(%table, %w) dims=[0] : f32[4,2]
output %a
output %b
output %pads
output %beyond
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const Boundaries found = boundaries_of(*graph);
  EXPECT_EQ(found.at("bounds below zero").at(graph->find("t")).values, std::vector<double>{-1});
  EXPECT_EQ(found.at("bounds").at(graph->find("w")).values, std::vector<double>{3})
      << "a table has nine rows";
}

// Neither lengths (compared with positions), nor indices, nor masks.
TEST(Boundaries, OfIntegersThatAreOnlyComputedWithAreWide) {
  auto graph = parse_graph(R"(graph "g"
input %n : i32[4,6]
input %u : u8[4,6]
input %length : i32[4,1]
input %t : i64[4]
parameter %table : f32[9,2]
%sum = sum(%n) dims=[1] : i32[4]
%twice = add(%u, %u) : u8[4,6]
%at = iota() size=6 dtype=i32 : i32[6]
%mask = lt(%at, %length) : bool[4,6]
%more = add(%length, %length) : i32[4,1]
%next = add(%t, %t) : i64[4]
%row = index(%table, %t) dims=[0] : f32[4,2]
output %sum
output %twice
output %mask
output %more
output %next
output %row
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const Boundaries found = boundaries_of(*graph);
  ASSERT_TRUE(found.contains("wide integers"));
  const auto& wide = found.at("wide integers");
  ASSERT_TRUE(wide.contains(graph->find("n")) && wide.contains(graph->find("u")));
  EXPECT_TRUE(has(&wide.at(graph->find("n")), 0x1p24 + 1));
  EXPECT_TRUE(has(&wide.at(graph->find("u")), 255));
  EXPECT_EQ(wide.size(), 2u);
}

TEST(Boundaries, OfQuotientsAreWhereTheirDivisorIsOne) {
  const Boundaries found = boundaries_in(R"(%a = abs(%x) : f32[4,8]
%m = amax(%a) dims=[1] keepdim=true : f32[4,1]
%most = full() shape=[] dtype=f32 value=127.0 : f32[]
%s = div(%m, %most) : f32[4,1]
%q = div(%x, %s) : f32[4,8]
%y = round(%q) : f32[4,8]
)");
  EXPECT_TRUE(has(planted(found, "whole numbers"), 127) && has(planted(found, "whole numbers"), 2.5));
}

TEST(Boundaries, BehindALayerAreItsShifts) {
  auto graph = parse_graph(R"(graph "g"
input %x : f32[4,8]
parameter %w : f32[6,8]
parameter %b : f32[6]
%a = linear(%x, %w, %b) : f32[4,6]
%y = clamp(%a) low=-1e4 high=1.0 : f32[4,6]
output %y
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const std::vector<WeightChange> shifts = bounded_weights(*graph);
  EXPECT_TRUE(std::ranges::any_of(shifts, [](const WeightChange& one) { return one.add < -1e4; }));
  EXPECT_TRUE(std::ranges::all_of(shifts, [](const WeightChange& one) { return one.add < -16; }))
      << "a bound of 1 is reached by itself";
}

TEST(Boundaries, AMaximumBehindALayerSeesNumbersFarBelowZero) {
  const std::string begin = R"(graph "g"
input %x : f32[4,8]
parameter %w : f32[6,8]
parameter %b : f32[6]
%a = linear(%x, %w, %b) : f32[4,6]
)",
                    end = "output %y\nend\n";
  auto bare = parse_graph(begin + "%y = amax(%a) dims=[1] : f32[4]\n" + end);
  auto relu = parse_graph(begin + "%r = relu(%a) : f32[4,6]\n%y = amax(%r) dims=[1] : f32[4]\n" + end);
  ASSERT_TRUE(bare && relu);
  const std::vector<WeightChange> shifts = bounded_weights(*bare);
  ASSERT_EQ(shifts.size(), 1u);
  EXPECT_EQ(shifts[0].end, 6);
  EXPECT_LT(shifts[0].add, -1000);
  EXPECT_TRUE(bounded_weights(*relu).empty()) << "nothing is below zero there";
}

TEST(Boundaries, AMaximumOverRowsOfATableSeesThemFarBelowZero) {
  auto graph = parse_graph(R"(graph "g"
input %t : i64[4]
parameter %table : f32[9,2]
%a = index(%table, %t) dims=[0] : f32[4,2]
%y = amax(%a) dims=[0] : f32[2]
output %y
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const std::vector<WeightChange> shifts = bounded_weights(*graph);
  ASSERT_EQ(shifts.size(), 1u);
  EXPECT_EQ(shifts[0].end, 9);
  EXPECT_LT(shifts[0].add, -1000);
}

TEST(Boundaries, OfReductionsAreSizes) {
  const Boundaries found = boundaries_in(R"(%n = norm(%x) dims=[1] keepdim=true : f32[4,1]
%c = clamp(%n) low=1e-6 : f32[4,1]
%y = div(%x, %c) : f32[4,8]
)");
  const Planted* sizes = planted(found, "sizes");
  ASSERT_TRUE(sizes);
  EXPECT_LT(sizes->smallest, 1e-6 / std::sqrt(8.0) / 10);
  EXPECT_GT(sizes->largest, 10 * 1e-6 / std::sqrt(8.0));
}

TEST(Boundaries, NeedConstants) { EXPECT_TRUE(boundaries_in("%y = relu(%x) : f32[4,8]\n").empty()); }

TEST(Boundaries, ArePlantedInTheMidst) {
  std::vector<double> values(1000, 0.5);
  plant({.values = {700}}, 3, {10, 100}, values);
  const auto count = std::ranges::count(values, 700.0);
  EXPECT_GT(count, 150);
  EXPECT_LT(count, 650);
  EXPECT_TRUE(std::all_of(values.end() - 100, values.end(), [](double value) { return value == 700; }))
      << "a whole row";
  std::ranges::fill(values, 0.5);
  plant({.smallest = 1e-6, .largest = 1e-2}, 3, {10, 100}, values);
  EXPECT_LT(std::ranges::max(values), 1.01e-2);
  EXPECT_NE(values.front(), values.back());
}

}  // namespace stitch::verifier
