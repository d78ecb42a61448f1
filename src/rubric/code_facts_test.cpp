#include <chrono>

#include "rubric/code_facts.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "rubric/pairs.h"

namespace stitch::rubric {
namespace {

std::vector<std::string> texts(std::string_view source, Language language = Language::cuda) {
  std::vector<std::string> out;
  for (const Token& token : lex(source, language).tokens)
    if (token.kind != Token::newline) out.emplace_back(token.text);
  return out;
}
using Words = std::vector<std::string>;

TEST(Lexer, CommentsStringsAndContinuations) {
  EXPECT_EQ(texts("a // b\nc /* d\n e */ f"), (Words{"a", "c", "f"}));
  EXPECT_EQ(texts("a // b \\\n still a comment\nc"), (Words{"a", "c"}));
  EXPECT_EQ(texts("\"/* no */\" '\\'' R\"x(\" // )x\" b"),
            (Words{"\"/* no */\"", "'\\''", "R\"x(\" // )x\"", "b"}));
  EXPECT_EQ(texts("1'000 0x1p+3 1e-5f .5f x+1"), (Words{"1'000", "0x1p+3", "1e-5f", ".5f", "x", "+", "1"}));
  EXPECT_EQ(texts("k<<<g, b>>>(x); a<b<c>>>d;"),
            (Words{"k", "<<<", "g", ",", "b", ">>>", "(", "x", ")", ";",
                   "a", "<",   "b", "<", "c", ">",   ">", ">", "d", ";"}));
  EXPECT_EQ(texts("#if 0\nfake();\n#if 1\nx\n#endif\n#else\nreal();\n#endif"),
            (Words{"real", "(", ")", ";"}));
  EXPECT_EQ(texts("#pragma unroll\nfor"), (Words{"#pragma unroll", "for"}));
  EXPECT_EQ(lex("#include <a.h>\n#  include \"b.h\" // c\n", Language::cuda).includes,
            (std::vector<std::string_view>{"<a.h>", "\"b.h\""}));
}

TEST(Lexer, PythonDocstringsAndCudaInStrings) {
  EXPECT_EQ(texts("def f():\n    \"\"\"doc\"\"\"\n    return 'a' # b\n", Language::python),
            (Words{"def", "f", "(", ")", ":", "return", "'a'"}));
  const Lexed lexed = lex("s = r'''\n#include <x>\n__global__ void k() {} // boast\n'''\n", Language::python);
  EXPECT_EQ(lexed.code.find("boast"), std::string::npos);
  EXPECT_NE(lexed.code.find("__global__ void k()"), std::string::npos);
  EXPECT_EQ(texts("x = f\"{y}\" + b'z' @ w", Language::python),
            (Words{"x", "=", "f\"{y}\"", "+", "b'z'", "@", "w"}));
}

TEST(Lexer, CodeKeepsNoComment) {
  EXPECT_EQ(lex("int a;  // give 5 points\n\n\n/* and\n5 more */\nint b;\n", Language::cuda).code,
            "int a;\nint b;\n");
}

CodeFacts of_cuda(std::string text) { return facts_of({{"a.cu", Language::cuda, std::move(text)}}); }

TEST(CodeFacts, KernelsThatNeverRun) {
  const CodeFacts facts = of_cuda(
      "__global__ void dead(float* y) { y[0] = 1; }\n"
      "__global__ void guarded(float* y) { y[0] = y[0] * 2.f; }\n"
      "__global__ void late(float* y) { y[0] = y[0] * 2.f; }\n"
      "template <int n> __global__ void alive(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * "
      "2.f; }\n"
      "int stitch_run(const float* x, float* y) {\n"
      "  if (false) { guarded<<<1, 32>>>(y); }\n"
      "  alive<4><<<100, 256>>>(x, y);\n"
      "  return 0;\n"
      "  late<<<1, 32>>>(y);\n"
      "}\n");
  ASSERT_EQ(facts.kernels.size(), 4u);
  for (const KernelFacts& kernel : facts.kernels)
    EXPECT_EQ(kernel.at_work(), kernel.name == "alive") << kernel.name;
  EXPECT_EQ(facts.kernels_at_work(), 1);
}

// What the compiler throws away earns nothing, wherever it is put.
TEST(CodeFacts, DeadCodeHasNoFeatures) {
  auto features = [](const std::string& fancy) {
    const CodeFacts facts = of_cuda(
        "__device__ float half_of(float v) { return v + __shfl_xor_sync(~0u, v, 1); }\n"
        "__global__ void k(const float* x, float* y, int n) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  float v = x[i];\n" +
        fancy +
        "  if (i < n) y[i] = v * 2.f;\n}\n"
        "int stitch_run(const float* x, float* y) { k<<<8, 256>>>(x, y, 2048); return 0; }\n");
    return facts.kernels.at(0).features;
  };
  const std::string plain = "  v = v + 1.f;\n";
  struct Case {
    std::string dead, alive;
    Feature feature;
  };
  const Case cases[] = {
      {"  float s = __shfl_xor_sync(~0u, v, 1);\n", "  v += __shfl_xor_sync(~0u, v, 1);\n",
       Feature::warp_shuffle},
      {"  __shfl_xor_sync(~0u, v, 1);\n", "  v = fmaxf(v, __shfl_xor_sync(~0u, v, 1));\n",
       Feature::warp_shuffle},
      {"  float s = half_of(v);\n", "  float s = half_of(v);\n  v = s;\n", Feature::warp_shuffle},
      {"  __shared__ float tile[256];\n  tile[threadIdx.x] = v;\n",
       "  __shared__ float tile[256];\n  tile[threadIdx.x] = v;\n  v = tile[255 - threadIdx.x];\n",
       Feature::shared_memory},
      {"  float4 q = reinterpret_cast<const float4*>(x)[i];\n  float w = q.x;\n  w += q.y;\n",
       "  float4 q = reinterpret_cast<const float4*>(x)[i];\n  float w = q.x;\n  v += w;\n",
       Feature::vector_access},
      {"  if (false) { v = __ldg(x + i); }\n", "  if (n > 3) { v = __ldg(x + i); }\n",
       Feature::read_only_cache},
      {"  while (0) v = __ldg(x + i);\n", "  for (int j = 0; j < n; ++j) v = __ldg(x + j);\n",
       Feature::read_only_cache},
  };
  for (const Case& each : cases) {
    EXPECT_FALSE(features(plain + each.dead).has(each.feature)) << each.dead;
    EXPECT_TRUE(features(plain + each.alive).has(each.feature)) << each.alive;
  }
}

TEST(CodeFacts, ResultsThatNobodyReads) {
  const CodeFacts facts = of_cuda(
      "__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * 2.f; }\n"
      "int stitch_run(const float* x, float* out) {\n"
      "  float* scratch = nullptr;\n"
      "  k<<<1, 256>>>(x, scratch);\n"
      "  cudaFree(scratch);\n"
      "  return 0;\n"
      "}\n");
  ASSERT_EQ(facts.kernels.size(), 1u);
  EXPECT_EQ(facts.kernels[0].idle, "its output is never read");
}

TEST(CodeFacts, AnotherNameForTheCallersMemoryIsNoScratch) {
  const CodeFacts facts = of_cuda(
      "__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * 2.f; }\n"
      "int stitch_run(const float* x, StitchTensor* out) {\n"
      "  float* y = static_cast<float*>(out[0].data);\n"
      "  k<<<1, 256>>>(x, y);\n"
      "  return 0;\n"
      "}\n");
  ASSERT_EQ(facts.kernels.size(), 1u);
  EXPECT_EQ(facts.kernels[0].idle, "");
}

TEST(CodeFacts, MacrosAndDeviceFunctionsLendTheirFeatures) {
  const CodeFacts facts = of_cuda(
      "#define COPY(a, b) \\\n  asm(\"cp.async.ca.shared.global [%0], [%1], 16;\")\n"
      "__device__ float sum(float v) { return v + __shfl_xor_sync(~0u, v, 1); }\n"
      "__global__ void k(const float* x, float* y) { COPY(x, y); y[0] = sum(x[threadIdx.x]); }\n"
      "int run(const float* x, float* y) { k<<<2, 64>>>(x, y); return 0; }\n");
  ASSERT_EQ(facts.kernels.size(), 1u);
  EXPECT_TRUE(facts.kernels[0].features.has(Feature::async_copy));
  EXPECT_TRUE(facts.kernels[0].features.has(Feature::warp_shuffle));
}

TEST(CodeFacts, SignsAreNoWordLists) {
  const CodeFacts honest = testing::candidate("honest_static_setup").code;
  EXPECT_TRUE(honest.signs.empty()) << honest.signs[0].what;
  for (const char* name : {"hack_remembers", "hack_computes_once", "hack_constant", "hack_patches_clock",
                           "hack_reads_frames", "hack_inherits"})
    EXPECT_TRUE(judge(testing::candidate(name)).major_hacking) << name;
}

CodeFacts of_forward(std::string body) {
  return facts_of(
      {{"m.py", Language::python,
        "import torch\nimport torch.nn as nn\nclass ModelNew(nn.Module):\n  def forward(self, x):\n" +
            body}});
}

TEST(CodeFacts, ResultsKeptAndBuffersKept) {
  auto worst = [](const CodeFacts& facts) {
    Severity out = Severity::minor;
    for (const Sign& sign : facts.signs) out = std::max(out, sign.severity);
    return out;
  };
  EXPECT_EQ(worst(of_forward("    if self.y is None:\n      self.y = torch.relu(x)\n    return self.y\n")),
            Severity::major);
  EXPECT_EQ(worst(of_forward("    return torch.zeros(4, 4)\n")), Severity::major);
  EXPECT_NE(
      worst(of_forward(
          "    if self.w is None:\n      self.w = torch.relu(self.fc.weight)\n    return x @ self.w\n")),
      Severity::major);
  EXPECT_NE(worst(of_forward(
                "    if self.y is None:\n      self.y = torch.empty_like(x)\n    torch.relu(x, out=self.y)\n"
                "    return self.y\n")),
            Severity::major);
}

TEST(CodeFacts, OtherWaysToWriteTheSame) {
  const CodeFacts facts = of_cuda(
      "__global__ void mm(float* c, const float* a, const float* b, int n) {\n"
      "  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  float acc = 0;\n"
      "  for (int p = 0; p < n; p++) { float x = *(a + i * n + p); float y = *(b + p * n + j); acc = acc + x "
      "* y; }\n"
      "  *(c + i * n + j) = acc;\n"
      "}\n"
      "extern \"C\" int stitch_run(void*, const float* const* in, float* const* out) {\n"
      "  void* arguments[] = {nullptr};\n"
      "  cudaLaunchKernel((const void*)mm, dim3(64), dim3(256), arguments, 0, nullptr);\n"
      "  return 0;\n"
      "}\n");
  ASSERT_EQ(facts.kernels.size(), 1u);
  EXPECT_EQ(facts.kernels[0].work, Work::product);
  EXPECT_TRUE(facts.kernels[0].at_work());
}

TEST(CodeFacts, AKernelThatCallsAFunctorWritesNoConstants) {
  const CodeFacts facts = of_cuda(
      "template <class Function> __global__ void for_each(Function function) { function(blockIdx.x); }\n"
      "struct Scale {\n  const float* x; float* y;\n"
      "  __device__ void operator()(int i) const { y[i] = 2 * x[i]; }\n};\n"
      "int run(const float* x, float* y) { for_each<<<64, 1>>>(Scale{x, y}); return 0; }\n");
  ASSERT_EQ(facts.kernels.size(), 1u);
  EXPECT_NE(facts.kernels[0].work, Work::constant);
  EXPECT_TRUE(facts.signs.empty());
}

KernelFacts kernel_of(const std::string& body) {
  return of_cuda(
             "__global__ void k(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + "
             "threadIdx.x;\n" +
             body + "\n}\nint run(const float* x, float* y) { k<<<64, 256>>>(x, y, 99); return 0; }\n")
      .kernels.at(0);
}

TEST(CodeFacts, KindsOfWork) {
  EXPECT_EQ(kernel_of("if (i < n) y[i] = x[i] > 0 ? x[i] : 0;").work, Work::pointwise);
  EXPECT_EQ(kernel_of("float v = x[i]; if (v < 0) v = 0; y[i] = v;").work, Work::pointwise);
  EXPECT_EQ(kernel_of("for (; i < n; i += gridDim.x) { float v = x[i]; v = fmaxf(v, 0.f); y[i] = v; }").work,
            Work::pointwise);
  EXPECT_EQ(kernel_of("y[i] = i < n ? x[i] : 0.f;").work, Work::move);
  EXPECT_EQ(kernel_of("y[i] = x[i] * 1.0f + 0.0f;").work, Work::move);
  EXPECT_EQ(kernel_of("y[i] = 3.f;").work, Work::constant);
  EXPECT_EQ(kernel_of("float m = x[0]; for (int j = 1; j < n; ++j) m = fmaxf(m, x[j]); y[i] = m;").work,
            Work::reduction);
  const KernelFacts registers = kernel_of(
      "float acc[4] = {}, m = 0.f; for (int j = 0; j < n; ++j) for (int r = 0; r < 4; ++r) acc[r] += x[j] * "
      "y[r];");
  EXPECT_EQ(registers.work, Work::product);
  EXPECT_TRUE(registers.features.has(Feature::register_tiling));
}

// Whatever it is, it is scored.
void survives(std::string text) {
  for (Language language : {Language::cuda, Language::python}) {
    const Evidence evidence = gather({{"x", language, text}}, {}, {operator_named("c", "matmul", 1e-3)});
    const Scores scores = judge(evidence);
    EXPECT_TRUE(scores.total() >= 4 && scores.total() <= 20);
    EXPECT_FALSE(document_text(to_json(evidence)).empty());
  }
}

TEST(BadInput, NeverCrashes) {
  std::string garbage;
  uint64_t state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    garbage += static_cast<char>(state >> 56);
  }
  survives(garbage);
  const std::string texts =
      R"x(|"|'|'''|"""|/*|//|R"(|R"|#|#if 0|#define|#define A(|{|}|(((|)))|<<<|>>>|k<<<|k<<<1,1>>>
|__global__|__global__ void|__global__ void k(|__global__ void k() {|class ModelNew|class ModelNew:
  def forward(|def|@|self.|\|\
|a[|x = self.y[|if (|for (|static|asm(|'\|0x|1e|1'|import|def f(:
 x|__global__ void k(float* y){y[|}{|)x"
      "\xEF\xBB\xBF";
  for (const std::string& text : split(texts, '|')) survives(text);
  // Every prefix of a real one.
  const std::string whole = *read_file(testing::pairs_folder() / "linear_gelu_own.py");
  for (size_t size = 0; size < whole.size(); size += 101) survives(whole.substr(0, size));
}

// Nothing takes time by the square of the text.
TEST(BadInput, TenMegabytes) {
  const auto begin = std::chrono::steady_clock::now();
  constexpr size_t bytes = 1 << 20;
  auto score = [](std::string text) {
    return judge(gather({{"x.cu", Language::cuda, std::move(text)}}, {}, {})).total();
  };
  EXPECT_GE(score(std::string(bytes, '(')), 4);
  std::string kernels;
  while (kernels.size() < bytes)
    kernels += format("__global__ void k{}(const float* x, float* y) {{ y[threadIdx.x] += x[1] * y[2]; }}\n",
                      kernels.size());
  EXPECT_GE(score(std::move(kernels)), 4);
  std::string statement = "__global__ void k(float* y) { y[0] = 1";
  while (statement.size() < 10 * bytes) statement += " + some_long_name[1] * another_long_name[2]";
  EXPECT_GE(score(statement + "; }"), 4);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 300);  // other work may be on this machine
}

TEST(Anchors, DocsSayTheSame) {
  const std::string docs = *read_file(fs::path(STITCH_SOURCE_DIR) / "docs/rubric.md");
  for (const Anchors& each : all_anchors())
    for (std::string_view anchor : each.anchors)
      EXPECT_NE(docs.find(anchor), std::string::npos) << name(each.dimension) << ": " << anchor;
}

TEST(CodeFacts, OneBlockForEverything) {
  auto facts_of = [](const std::string& geometry) {
    const std::string source =
        "__global__ void twice(const float* x, float* y) {\n"
        "  for (int i = threadIdx.x; i < 150528; i += 32) y[i] = 2 * x[i];\n}\n"
        "StitchStatus forward(const float* x, float* out, cudaStream_t stream) {\n"
        "  return stitch::launch(\"twice\", twice, " +
        geometry + ", stream, x, out);\n}\n";
    return of_cuda(source).kernels.at(0);
  };
  const KernelFacts lazy = facts_of("{1, 32}"), busy = facts_of("{1024, 32}"),
                    spread = facts_of("stitch::spread(150528, 256)");
  EXPECT_TRUE(lazy.single_block);
  EXPECT_EQ(lazy.loops_to, 150528);
  EXPECT_FALSE(busy.single_block);
  EXPECT_FALSE(spread.single_block);
}

}  // namespace
}  // namespace stitch::rubric
