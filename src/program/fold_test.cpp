#include "program/fold.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stitch {
namespace {

struct Case {
  const char *name, *in, *out;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class Fold : public testing::TestWithParam<Case> {};

std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

TEST_P(Fold, BreaksAsClangFormatDoes) {
  const std::string folded = fold(GetParam().in, 40);
  EXPECT_EQ(folded, GetParam().out);
  EXPECT_EQ(fold(folded, 40), folded);
}

// Each result is what clang-format (Google, 40 columns) makes of it.
INSTANTIATE_TEST_SUITE_P(
    , Fold,
    testing::Values(
        Case{"ShortLinesStay", "f(a, b);\n  g();\n", "f(a, b);\n  g();\n"},
        Case{"ArgumentsBelowTheFirst", "  OK(enqueue_conv1(x, weight, bias_of_1, out, stream));\n",
             "  OK(enqueue_conv1(x, weight, bias_of_1,\n                   out, stream));\n"},
        Case{"NestedListsStayWhole", "  f(contract(\"x\", {1, 2}), contract(\"yy\", {3, 4}));\n",
             "  f(contract(\"x\", {1, 2}),\n    contract(\"yy\", {3, 4}));\n"},
        Case{"LongNamesBreakBehindTheBracket",
             "  return stitch::enqueue_product_of<P>(\"a_long_name_of_a_region\", x, y);\n",
             "  return stitch::enqueue_product_of<P>(\n      \"a_long_name_of_a_region\", x, y);\n"},
        Case{"AssignmentsBreakBehindTheSign",
             "constexpr auto inputs = contracts(contract(\"a\", F32, {1}));\n",
             "constexpr auto inputs =\n    contracts(contract(\"a\", F32, {1}));\n"},
        Case{"CommentsWrap", "  // one two three four five six seven eight\n",
             "  // one two three four five six seven\n  // eight\n"},
        Case{"TrailingCommentsMoveAbove", "  float* layer1_0_conv1_out = nullptr;  // (32, 64)\n",
             "  // (32, 64)\n  float* layer1_0_conv1_out = nullptr;\n"},
        Case{"LiteralsAreNotBroken", "f(\"a, b, c, d, e, f, g, h, i, j, k, l, m\", 'x', 1'000);\n",
             "f(\"a, b, c, d, e, f, g, h, i, j, k, l, m\",\n  'x', 1'000);\n"},
        Case{"BodiesGetLinesOfTheirOwn", "  static int out(int a) { return a % 100 + a / 100; }\n",
             "  static int out(int a) {\n    return a % 100 + a / 100;\n  }\n"},
        Case{"PreprocessorLinesStay", "#include \"stitch/kernels/a_very_long_name.h\"\n",
             "#include \"stitch/kernels/a_very_long_name.h\"\n"}),
    [](const auto& info) { return info.param.name; });

TEST(FoldAnything, ChangesWhitespaceOnly) {
  const std::string code =
      "auto x = [&](int a, int b) { return a->b<c, d>(e{1, 2, {3, 4}}, f[i + j] ? g : h) && k < l; };\n"
      "}, stream, aligned ? first<true> : second<false>(a - b, c * d, e / f), \"q, \\\" // r\", s));\n";
  for (size_t columns = 1; columns < 100; ++columns)
    EXPECT_EQ(without_spaces(fold(code, columns)), without_spaces(code)) << columns;
}

}  // namespace
}  // namespace stitch
