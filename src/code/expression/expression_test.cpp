#include "code/expression/expression.h"

#include <gtest/gtest.h>

#include <cmath>

#include "code/expression/pointwise.h"
#include "code/expression/statement.h"
#include "graph/text.h"

namespace stitch::code {
namespace {

const Expression a = named("a"), b = named("b"), c = named("c");

TEST(Print, ParenthesesKeepTheTree) {
  EXPECT_EQ(text_of(a + b * c), "a + b * c");
  EXPECT_EQ(text_of((a + b) * c), "(a + b) * c");
  EXPECT_EQ(text_of(a - (b - c)), "a - (b - c)");
  EXPECT_EQ(text_of(a - b - c), "a - b - c");
  EXPECT_EQ(text_of(a + (b + c)), "a + (b + c)");
  EXPECT_EQ(text_of(unary(Operator::negate, a + b)), "-(a + b)");
  EXPECT_EQ(text_of(unary(Operator::negate, unary(Operator::negate, a))), "-(-a)");
  EXPECT_EQ(text_of(a - number(-1, DType::f32)), "a - -1.0f");
  EXPECT_EQ(text_of(select(a < b, a, b) + 1), "(a < b ? a : b) + 1");
  EXPECT_EQ(text_of(select(a < b, a, select(b < c, b, c))), "a < b ? a : b < c ? b : c");
  EXPECT_EQ(text_of(element("x", a * 4 + 1)), "x[a * 4 + 1]");
  EXPECT_EQ(text_of(member(element("x", a), "sum")), "x[a].sum");
}

// Right without them, but easily misread.
TEST(Print, ParenthesesForReaders) {
  EXPECT_EQ(text_of(a / b * c), "(a / b) * c");
  EXPECT_EQ(text_of(a * b % c), "(a * b) % c");
  EXPECT_EQ(text_of(a * b * c), "a * b * c");
  EXPECT_EQ(text_of(either(both(a, b), c)), "(a && b) || c");
  EXPECT_EQ(text_of(both(a, both(b, c))), "a && b && c");
  EXPECT_EQ(text_of(both({}, a)), "a");
  EXPECT_EQ(text_of(appended(a, b * 4 - c)), "a + b * 4 - c");
  EXPECT_EQ(text_of((a < b) == c), "(a < b) == c");
}

TEST(Print, NumbersReadBackAsThemselves) {
  EXPECT_EQ(text_of(number(0.1, DType::f32)), "0.1f");
  EXPECT_EQ(text_of(number(1, DType::f64)), "1.0");
  EXPECT_EQ(text_of(number(-INFINITY, DType::bf16)), "-INFINITY");
  EXPECT_EQ(text_of(number(1e300, DType::i64)), "INT64_MAX");
  EXPECT_EQ(text_of(number(2, DType::boolean)), "true");
}

TEST(Print, LongLinesGoOnBelow) {
  const Expression x = named(std::string(40, 'x')), y = named(std::string(40, 'y')),
                   z = named(std::string(40, 'z'));
  EXPECT_EQ(text_of(Block{evaluate(call("stitch::launch", {x, y, z}))}, 2),
            "  stitch::launch(" + x->name + ", " + y->name + ",\n                 " + z->name + ");\n");
  EXPECT_EQ(text_of(Block{define_constant({"float"}, "sum", x + y + z)}, 2),
            "  const float sum =\n      " + x->name + " + " + y->name + " +\n      " + z->name + ";\n");
  EXPECT_EQ(text_of(Block{define_constant({"float"}, "least", select(x < y, x, z))}, 2),
            "  const float least =\n      " + x->name + " < " + y->name + "\n          ? " + x->name +
                "\n          : " + z->name + ";\n");
}

TEST(Statements, PrintAsClangFormatWould) {
  Block body = {assign(element("y", named("i")), a), {Barrier{}}};
  EXPECT_EQ(text_of(Block{{For{.type = int_type,
                               .variable = "i",
                               .begin = 0,
                               .end = 8,
                               .unroll = For::whole,
                               .body = body}},
                          only_if(a < 3, {Return{}}),
                          {If{b > 0, {assign(named("n"), 1, Operator::add)}}}},
                    2),
            "#pragma unroll\n"
            "  for (int i = 0; i < 8; ++i) {\n"
            "    y[i] = a;\n"
            "    __syncthreads();\n"
            "  }\n"
            "  if (a < 3) return;\n"
            "  if (b > 0) {\n"
            "    ++n;\n"
            "  }\n");
}

// What is too long for a line breaks where clang-format breaks it.
TEST(Statements, LongOnesAreFolded) {
  const std::string wide(40, 'w');
  auto name = [&](const char* start) { return named(start + wide); };
  const Expression last = name("c");
  EXPECT_EQ(text_of(Block{define_constant(int_type, "x",
                                          select(a < 3, name("p"), select(b < 40, name("q"), last)))},
                    2),
            "  const int x =\n"
            "      a < 3    ? p" +
                wide +
                "\n"
                "      : b < 40 ? q" +
                wide +
                "\n"
                "               : c" +
                wide + ";\n");
  EXPECT_EQ(text_of(Block{assign(named("y"), name("p") + name("q") * last)}, 0),
            "y =\n    p" + wide + " +\n    q" + wide + " * c" + wide + ";\n");
  EXPECT_EQ(text_of(Block{evaluate(call("f" + wide + wide, {name("p"), b}))}, 0),
            "f" + wide + wide + "(\n    p" + wide + ", b);\n");
  const For loop{.type = int_type, .variable = "i", .begin = name("p"), .end = name("q") + 1, .body = {}};
  EXPECT_EQ(text_of(Block{{loop}}, 0),
            "for (int i = p" + wide + "; i < q" + wide + " + 1;\n     ++i) {\n}\n");
}

std::string tidied(Block block) {
  remove_unused(block);
  return text_of(block, 0);
}

TEST(Statements, WhatNobodyReadsIsRemoved) {
  const Type type{"float", 4};
  const Statement used = assign(element("y", 0), a);
  EXPECT_EQ(tidied({define_constant(type, "u", a), define_constant(type, "v", named("u")), used}),
            "y[0] = a;\n");
  // An array that is only filled, the loop that fills it, and what it is filled with.
  const Statement fill{For{.type = int_type,
                           .variable = "e",
                           .begin = 0,
                           .end = 4,
                           .body = {assign(element("held", named("e")), named("u"))}}};
  const Statement array = define_variable(type, "held", {}, {4});
  EXPECT_EQ(tidied({define_constant(type, "u", a), array, fill, used}), "y[0] = a;\n");
  EXPECT_EQ(tidied({array, fill, assign(element("y", 0), element("held", 2))}),
            "float held[4];\nfor (int e = 0; e < 4; ++e) {\n  held[e] = u;\n}\ny[0] = held[2];\n");
  // A sum that is only read to be written again.
  EXPECT_EQ(tidied({define_variable(type, "sum", 0), assign(named("sum"), a, Operator::add), used}),
            "y[0] = a;\n");
}

TEST(Statements, NamesMeanTheNearestDeclaration) {
  const Type type{"float", 4};
  const Statement first{If{a, {define_constant(type, "x", b)}}},
      second{If{a, {define_constant(type, "x", c), assign(element("y", 0), named("x"))}}};
  EXPECT_EQ(tidied({first, second}), "if (a) {\n  const float x = c;\n  y[0] = x;\n}\n");
}

TEST(Statements, ThreadsThatWaitForEachOtherStay) {
  const Type type{"float", 4};
  Block block = {define_variable(type, "all", 0), assign(named("all"), collective("reduce", {named("all")}))};
  EXPECT_EQ(tidied(block), "float all = 0;\nall = reduce(all);\n");
}

TEST(Statements, LoopsOfOneIterationAreTheirBodies) {
  auto loop = [](Expression index) {
    return Statement{For{.type = int_type,
                         .variable = "e",
                         .begin = 0,
                         .end = 1,
                         .body = {define_constant(int_type, "index", std::move(index)),
                                  assign(element("y", named("index")), named("e") * 4 + named("v"))}}};
  };
  const Statement lane = define_constant(int_type, "lane", named("t")),
                  of_lane = loop(named("e") + named("lane"));
  auto text = [](Block block) {
    remove_single_iterations(block);
    return text_of(block, 0);
  };
  EXPECT_EQ(text({lane, of_lane, of_lane}), "const int lane = t;\ny[lane] = v;\ny[lane] = v;\n");
  // Of two that mean different things by a name, the second stays a loop.
  EXPECT_EQ(text({lane, loop(named("lane") * 2), loop(named("lane") * 3)}),
            "const int lane = t;\nconst int index = lane * 2;\ny[index] = v;\n"
            "for (int e = 0; e < 1; ++e) {\n  const int index = lane * 3;\n  y[index] = e * 4 + v;\n}\n");
}

// The oracle's ops and the table's are the same.
TEST(Pointwise, EveryOpHasARow) {
  for (int i = 0; i < op_count; ++i) {
    const Op op = static_cast<Op>(i);
    EXPECT_EQ(is_pointwise(op), info(op).family == stitch::Family::pointwise) << info(op).name;
  }
}

std::string written(const std::string& node, const std::string& inputs = "input %x : f32[4]\n") {
  auto graph = parse_graph("graph \"g\"\n" + inputs + "%y = " + node + "\noutput %y\nend\n");
  EXPECT_TRUE(graph) << graph.error().text();
  Expressions operands;
  for (ValueId id : graph->nodes[0].operands) operands.push_back(named((*graph)[id].name));
  return text_of(pointwise(*graph, graph->nodes[0], operands));
}

TEST(Pointwise, NumbersAreOfTheOperandsType) {
  EXPECT_EQ(written("leaky_relu(%x) slope=0.1 : f32[4]"), "x > 0.0f ? x : 0.1f * x");
  EXPECT_EQ(written("elu(%x) : f64[4]", "input %x : f64[4]\n"), "stitch::elu(x, 1.0, 1.0, 1.0)");
  EXPECT_EQ(written("exp(%x) : f16[4]", "input %x : f16[4]\n"), "expf(x)");
  EXPECT_EQ(written("neg(%x) : i32[4]", "input %x : i32[4]\n"), "stitch::wrapped_sub<int32_t>(0, x)");
  EXPECT_EQ(written("cast(%x) dtype=bool : bool[4]"), "x != 0.0f");
}

}  // namespace
}  // namespace stitch::code
