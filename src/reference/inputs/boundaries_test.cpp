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
  EXPECT_LT(count, 350);
  std::ranges::fill(values, 0.5);
  plant({.smallest = 1e-6, .largest = 1e-2}, 3, {10, 100}, values);
  EXPECT_LT(std::ranges::max(values), 1.01e-2);
  EXPECT_NE(values.front(), values.back());
}

}  // namespace stitch::verifier
