#include "program/fold.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testdata/must.h"
#include "program/package.h"
#include "program/program_text.h"

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

std::vector<std::string> included(std::string_view source, std::vector<std::string> known = {}) {
  add_included_libraries(source, known);
  return known;
}

using Names = std::vector<std::string>;

TEST(Libraries, AreThoseWhoseHeadersAreIncluded) {
  EXPECT_EQ(included("#include <cublas_v2.h>\nint x;\n"), Names{"cublas"});
  EXPECT_EQ(included("  #\tinclude \"cudnn_ops.h\"  // and more"), Names{"cudnn"});
  EXPECT_EQ(included("#include <cublasLt.h>\r\n#include <cublas_v2.h>\n#include <cudnn.h>"),
            (Names{"cublasLt", "cublas", "cudnn"}));
  EXPECT_EQ(included("#include <cublasLt.h>\n", {"cublasLt"}), Names{"cublasLt"});
}

TEST(Libraries, OtherLinesNameNone) {
  for (std::string_view source :
       {"", "\n\n", "#include", "#include <", "#include <cuda_runtime.h>", "#define cudnn.h",
        "// cublas_v2.h", "#include HEADER", "include <cudnn.h>", "#"})
    EXPECT_TRUE(included(source).empty()) << source;
}

TEST(Libraries, AFewAreKnown) {
  EXPECT_TRUE(is_known_library("cublas"));
  EXPECT_FALSE(is_known_library("cuda"));
  EXPECT_FALSE(is_known_library(""));
}

TEST(ProgramText, GoesThereAndBack) {
  const SourceFiles files = {
      {"manifest.cu", "int a;\n"}, {"program.cu", "int b;\n"}, {"regions/fc-1.cu", "int c;\n"}};
  const std::string text = program_text(files);
  EXPECT_TRUE(is_several_files(text));
  EXPECT_FALSE(is_several_files("#include <a>\n// file: program.cu\n"));
  EXPECT_EQ(must(files_of_text(text)), files);
  // A last line without an end gets one: two files never share a line.
  EXPECT_EQ(must(files_of_text(program_text({{"a.cu", "int a;"}, {"b.cu", "int b;"}}))).at("a.cu"),
            "int a;\n");
}

TEST(ProgramText, OnlyPathsOfPrograms) {
  for (const char* path : {"../a.cu", "/etc/a.cu", "include/stitch/program.h", "regions/../a.cu",
                           "regions/x/a.cu", "a.py", ".cu", "plan.json", "", "CMakeLists.txt"})
    EXPECT_FALSE(files_of_text(std::string("// file: ") + path + "\nint a;\n")) << path;
  EXPECT_FALSE(files_of_text("// file: a.cu\n1\n// file: a.cu\n2\n"));
  EXPECT_FALSE(files_of_text("int a;\n// file: a.cu\n"));
}

TEST(ProgramText, ChangesTurnOneProgramIntoAnother) {
  const SourceFiles before = {{"program.cu", "1\n"}, {"regions/a.cu", "2\n"}, {"regions/b.cu", "3\n"}};
  const SourceFiles after = {{"program.cu", "1\n"}, {"regions/a.cu", "4\n"}, {"regions/c.cu", "5\n"}};
  const SourceFiles changes = changes_between(before, after);
  EXPECT_EQ(changes.size(), 3U);
  EXPECT_EQ(with_changes(before, must(files_of_text(program_text(changes)))), after);
}

}  // namespace

}  // namespace stitch
