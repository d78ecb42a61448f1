#include "code/family/unify.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "code/family/tokens.h"

namespace stitch::code {
namespace {

const std::vector<Sizes> rows = {{{"batch", 31}, {"length", 127}}, {{"batch", 5}, {"length", 509}},
                                 {{"batch", 61}, {"length", 7}},   {{"batch", 19}, {"length", 83}},
                                 {{"batch", 43}, {"length", 251}}, {{"batch", 53}, {"length", 199}}};

SizeTable table() { return {{{"batch", 1, 64, 1, {{0, 0}}}, {"length", 1, 512, 1, {{0, 1}}}}, rows}; }

// The formula of f at the rows.
template <class F>
std::string formula_of(F f) {
  std::vector<int64_t> values;
  for (const Sizes& row : rows) values.push_back(f(row.at("batch"), row.at("length")));
  return table().formula(values, "").value_or("none");
}

// The text with {} for f at each row.
template <class F>
Result<std::string> unified(const std::string& before, F f, const std::string& behind) {
  std::vector<std::string> texts;
  for (const Sizes& row : rows)
    texts.push_back(before + std::to_string(f(row.at("batch"), row.at("length"))) + behind);
  return unify(table(), texts);
}

TEST(Fit, FindsTheFormulasThatCodeHas) {
  EXPECT_EQ(formula_of([](int64_t b, int64_t) { return b; }), "batch");
  EXPECT_EQ(formula_of([](int64_t, int64_t) { return 64; }), "64");
  EXPECT_EQ(formula_of([](int64_t b, int64_t l) { return b * l * 64; }), "batch * length * 64");
  EXPECT_EQ(formula_of([](int64_t, int64_t l) { return l - 1; }), "length - 1");
  EXPECT_EQ(formula_of([](int64_t b, int64_t l) { return b * l * l * 12; }), "batch * length * length * 12");
  EXPECT_EQ(formula_of([](int64_t b, int64_t l) { return (b * l + 255) / 256; }),
            "(batch * length + 255) / 256");
  EXPECT_EQ(formula_of([](int64_t b, int64_t l) { return b * ((l + 63) / 64); }),
            "((length + 63) / 64) * batch");
  EXPECT_EQ(formula_of([](int64_t b, int64_t l) { return (b * l * 4 + 255) / 256 * 256; }),
            "((batch * length + 63) / 64) * 256");
  EXPECT_EQ(formula_of([](int64_t b, int64_t l) { return b * l * 3 + l; }), "length + batch * length * 3");
  EXPECT_EQ(formula_of([](int64_t b, int64_t l) { return b ^ l; }), "none");
}

// A tile that a kernel's shared memory has.
TEST(Unify, RefusesWhatKernelsHaveToKnow) {
  auto with = [](const std::string& member) {
    return unified(
        "#include \"stitch/kernels/conv_direct.h\"\nstruct Conv1Layer {\n  static constexpr int " + member +
            " = ",
        [](int64_t, int64_t l) { return l; }, ";\n};\n");
  };
  EXPECT_TRUE(with("out_height")) << with("out_height").error().message;
  ASSERT_FALSE(with("tile_height"));
  EXPECT_NE(with("tile_height").error().message.find("kernels have to know 'tile_height'"),
            std::string::npos);
}

TEST(Fit, CountsInSixtyFourBitsWhereARangeNeedsThem) {
  const auto text = unified(
      "int64_t enqueue_x(cudaStream_t stream) { return ",
      [](int64_t b, int64_t l) { return b * l * 1'000'000; }, "; }");
  EXPECT_NE(text->find("int64_t{sizes.batch} * sizes.length * 1000000"), std::string::npos) << *text;
}

TEST(Fit, FormulasEvaluateToTheirValues) {
  const std::string formula = formula_of([](int64_t b, int64_t l) { return b * ((l + 63) / 64) * 3; });
  EXPECT_EQ(*evaluate_size(formula, {{"batch", 64}, {"length", 512}}), 64 * 8 * 3);
}

TEST(Tokens, PrintTheirText) {
  const std::string text =
      "#include \"a.h\"\n// one\nint f(float x) { return 1.0e-5f * x + 'a'; }  /* two */\n";
  std::string out;
  for (const Token& token : tokens_of(text)) out += std::string(token.space) + std::string(token.text);
  EXPECT_EQ(out, text);
}

TEST(Unify, NumbersBecomeFormulas) {
  const auto text = unified(
      "StitchStatus enqueue_x(float* y, cudaStream_t stream) {\n  return run(y, ",
      [](int64_t b, int64_t l) { return b * l; }, ", stream);\n}\n");
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(*text,
            "StitchStatus enqueue_x(float* y, const Sizes& sizes, cudaStream_t stream) {\n"
            "  return run(y, sizes.batch * sizes.length, stream);\n}\n");
}

TEST(Unify, FormulasKeepTheirPlaceInAnExpression) {
  const auto text = unified(
      "int enqueue_x(int i, cudaStream_t stream) { return i / ", [](int64_t, int64_t l) { return l * 4; },
      " + 1; }\n");
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_NE(text->find("i / (sizes.length * 4) + 1"), std::string::npos) << *text;
}

TEST(Unify, StructsAreMadeFromSizes) {
  const auto text = unified(
      "struct XProduct {  // y = x\n  using Index = int;\n  static constexpr Index batches = 1, rows = ",
      [](int64_t b, int64_t) { return b; },
      ", depth = 64;\n  static constexpr bool padded = false;\n"
      "  __device__ static Index last(Index k) { return rows - k; }\n"
      "  __device__ static Index left(Index row, Index k) { return k + row * 64; }\n};\n\n"
      "int pack_x(cudaStream_t stream) { return pack(XProduct{}); }\n"
      "int enqueue_x(cudaStream_t stream) { return run(XProduct{}, stream); }\n");
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(
      *text,
      "struct XProduct {  // y = x\n"
      "  Sizes sizes;\n"
      "  XProduct(const Sizes& of = {}) : sizes(of) {}\n"
      "  using Index = int;\n"
      "  static constexpr Index batches = 1, depth = 64;\n"
      "  Index rows = sizes.batch;\n"
      "  static constexpr bool padded = false;\n"
      "  __device__ Index last(Index k) const { return rows - k; }\n"
      "  __device__ static Index left(Index row, Index k) { return k + row * 64; }\n};\n\n"
      "int pack_x(cudaStream_t stream) { return pack(XProduct{Sizes{}}); }\n"
      "int enqueue_x(const Sizes& sizes, cudaStream_t stream) { return run(XProduct{sizes}, stream); }\n");
}

TEST(Unify, EpiloguesCarrySizesBehindTheirPointers) {
  const auto text = unified(
      "struct E {\n  const float* bias;\n  __device__ float operator()(float v, int i) const { return v + "
      "bias[i % ",
      [](int64_t, int64_t l) { return l; },
      "]; }\n};\nint enqueue_x(const float* b, cudaStream_t stream) { return run(E{b}, stream); }\n");
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_NE(text->find("const float* bias;\n  Sizes sizes;\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("bias[i % sizes.length]"), std::string::npos) << *text;
  EXPECT_NE(text->find("E{b, sizes}"), std::string::npos) << *text;
}

TEST(Unify, FloatsOfSizes) {
  std::vector<std::string> texts;
  for (const Sizes& row : rows)
    texts.push_back(format("float enqueue_x(float sum, cudaStream_t stream) {{ return sum * {}f; }}",
                           number_text(static_cast<double>(1.0f / static_cast<float>(row.at("length"))))));
  const auto text = unify(table(), texts);
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_NE(text->find("sum * (1.0f / static_cast<float>(sizes.length))"), std::string::npos) << *text;
}

TEST(Unify, CommentsSpeakOfSizes) {
  const auto text = unified(
      "int x;  // (", [](int64_t b, int64_t) { return b; }, ", 64)\n");
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(*text, "int x;  // (batch, 64)\n");
}

TEST(Unify, WhatACompilerMustKnowIsRefused) {
  auto message = [](const std::string& before, const std::string& behind) {
    const auto text = unified(
        before, [](int64_t b, int64_t) { return b; }, behind);
    return text ? "accepted: " + *text : text.error().message;
  };
  const std::string head = "void enqueue_x(cudaStream_t stream) {\n  ";
  for (const auto& [before, behind] : std::vector<std::pair<std::string, std::string>>{
           {head + "run<true, ", ">(stream);\n}"},
           {head + "float held[", "];\n}"},
           {head + "constexpr int rows = ", ";\n}"},
           {"__global__ void __launch_bounds__(", ") f(const Sizes sizes) {}"},
           {"constexpr int rows = ", ";"}})
    EXPECT_NE(message(before, behind).find("known to the compiler"), std::string::npos)
        << message(before, behind);
  EXPECT_NE(message("int pack_x(cudaStream_t stream) { return ", "; }").find("before a run"),
            std::string::npos);
}

TEST(Unify, CodeOfAnotherFormIsShownAtTwoSizes) {
  std::vector<std::string> texts(rows.size(), "int x = wide(y);\n");
  texts[3] = "int x = narrow(y);\n";
  const auto text = unify(table(), texts);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("`int x = wide(y);` at some sizes, `int x = narrow(y);` at others"),
            std::string::npos)
      << text.error().message;
}

}  // namespace
}  // namespace stitch::code
