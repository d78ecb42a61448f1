#include "graph/sizes.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "graph/instances.h"
#include "graph/size_table.h"
#include "graph/text.h"

namespace stitch {
namespace {

Graph graph_of(int64_t batch, const std::string& op = "relu") {
  return *parse_graph("graph \"g\"\ninput %x : f32[" + std::to_string(batch) + ",8]\n%y = " + op +
                      "(%x) : f32[" + std::to_string(batch) + ",8]\noutput %y\nend\n");
}

TEST(Sizes, FormulasAreEvaluatedAsCDoes) {
  const Sizes sizes = {{"batch", 3}, {"length", 10}};
  EXPECT_EQ(*evaluate_size("batch * (length - 1) / 2 + 4", sizes), 17);
  EXPECT_EQ(*evaluate_size("((length + 3) / 4) * batch", sizes), 9);
  EXPECT_EQ(*evaluate_size("64", {}), 64);
}

TEST(Sizes, MistakesInFormulasAreNamed) {
  auto message = [](const char* formula) { return evaluate_size(formula, {{"n", 4}}).error().message; };
  EXPECT_NE(message("m + 1").find("there is no size 'm'"), std::string::npos);
  EXPECT_NE(message("n / 0").find("division"), std::string::npos);
  EXPECT_NE(message("(n").find("')' is expected"), std::string::npos);
  EXPECT_NE(message("n n").find("an operator is expected"), std::string::npos);
  EXPECT_NE(message("9223372036854775807 * n").find("too large"), std::string::npos);
  EXPECT_NE(message(std::string(1000, '(').c_str()).find("too many parentheses"), std::string::npos);
}

// Whatever a number is at three sizes, a parabola goes through it: a tile that was chosen is no formula.
TEST(SizeTable, FindsNoFormulaWhereFewSizesWereSeen) {
  auto formula = [](int64_t most, std::vector<int64_t> batches, std::vector<int64_t> values) {
    std::vector<Sizes> rows;
    for (int64_t batch : batches) rows.push_back({{"batch", batch}});
    return SizeTable({{"batch", 1, most, 1, {{0, 0}}}}, rows).formula(values, "").value_or("none");
  };
  EXPECT_EQ(formula(4, {2, 3, 4, 3}, {18, 40, 24, 40}), "none");
  EXPECT_EQ(formula(64, {5, 9, 5, 9}, {31, 38, 31, 38}), "none");
  EXPECT_EQ(formula(64, {5, 9, 7, 11}, {11, 19, 15, 23}), "batch * 2 + 1");
  EXPECT_EQ(formula(64, {5, 9, 7, 11}, {30, 90, 56, 132}), "batch + batch * batch");
  EXPECT_EQ(formula(2, {2, 1, 2, 1}, {31, 24, 31, 24}), "batch * 7 + 17") << "there are no other sizes";
}

TEST(Instances, SizesTellFormulasApart) {
  const Dimensions dimensions = {{"batch", 1, 64, 1, {{0, 0}}}, {"length", 1, 2048, 1, {{0, 1}}}};
  const auto sizes = instance_sizes(dimensions, {{"batch", 4}, {"length", 128}});
  ASSERT_TRUE(sizes);
  std::set<int64_t> seen;
  for (const Sizes& each : *sizes)
    for (const auto& [name, size] : each) {
      EXPECT_EQ(size % 2, 1) << name;
      seen.insert(size);
    }
  EXPECT_GE(seen.size(), 9u);
  EXPECT_GT(sizes->back().at("length"), 1800);  // and the other is large with it
  EXPECT_GT(sizes->back().at("batch"), 50);
}

TEST(Instances, SizesAreMultiplesWhereARangeIs) {
  const auto sizes = instance_sizes({{"height", 32, 512, 32, {{0, 2}}}}, {{"height", 224}});
  ASSERT_TRUE(sizes);
  for (const Sizes& each : *sizes) EXPECT_EQ(each.at("height") % 32, 0);
}

TEST(Instances, SizesAreReadFromInputs) {
  const Dimensions dimensions = {{"batch", 1, 64, 1, {{0, 0}}}};
  EXPECT_EQ(sizes_of(dimensions, graph_of(3))->at("batch"), 3);
  EXPECT_NE(sizes_of(dimensions, graph_of(65)).error().message.find("65 is outside of batch=1..64"),
            std::string::npos);
  EXPECT_NE(sizes_of({{"batch", 1, 64, 1, {{1, 0}}}}, graph_of(3)).error().message.find("no input 1"),
            std::string::npos);
  EXPECT_NE(sizes_of({{"batch", 1, 64, 1, {{0, 2}}}}, graph_of(3)).error().message.find("no dimension 2"),
            std::string::npos);
  EXPECT_NE(sizes_of({{"n", 1, 64, 1, {{0, 0}, {0, 1}}}}, graph_of(3))
                .error()
                .message.find("n is 3 in one input and 8"),
            std::string::npos);
}

Instances family_of(const std::function<Graph(int64_t)>& at) {
  Instances out;
  out.dimensions = {{"n", 1, 64, 1, {{0, 0}}}};
  out.example = {{"n", 16}};
  const auto all = *instance_sizes(out.dimensions, out.example);
  for (const Sizes& sizes : all) out.all.push_back({sizes, at(sizes.at("n"))});
  out.largest = {largest_sizes(out.dimensions), at(largest_sizes(out.dimensions).at("n"))};
  return out;
}

TEST(Instances, AreMadeAtFurtherSizes) {
  auto pooled = [](int64_t n) {
    auto text = [](int64_t number) { return std::to_string(number); };
    return *parse_graph("graph \"g\"\ninput %x : f32[" + text(n) +
                        ",8]\n%y = slice(%x) dim=0 start=" + text(n / 2) + " end=" + text(n) + " : f32[" +
                        text(n - n / 2) + ",8]\noutput %y\nend\n");
  };
  const Instances known = family_of(pooled);
  const std::vector<Sizes> wanted = sizes_across(known.dimensions);
  EXPECT_EQ(wanted.front(), (Sizes{{"n", 1}}));
  EXPECT_EQ(wanted.back(), (Sizes{{"n", 64}}));
  const auto made = instances_at(known, wanted);
  ASSERT_TRUE(made) << made.error().text();
  for (const Instance& each : *made)
    EXPECT_EQ(print_graph(each.graph), print_graph(pooled(each.sizes.at("n"))));
  auto no_formula = instances_at(family_of([](int64_t n) { return graph_of((n ^ 5) + 8); }), wanted);
  EXPECT_FALSE(no_formula);
}

TEST(Instances, AnotherFormIsNamedWithItsSizes) {
  const Instance three{{{"batch", 3}}, graph_of(3)}, seven{{{"batch", 7}}, graph_of(7)};
  EXPECT_TRUE(check_same_form(three, seven));
  const auto other = check_same_form(three, {{{"batch", 7}}, graph_of(7, "exp")});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("with batch=3 it computes"), std::string::npos)
      << other.error().message;
}

}  // namespace
}  // namespace stitch
