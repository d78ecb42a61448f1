// Every constant in our headers against NVIDIA's: one program that prints all, compiled against each.
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <set>

#include "base/machine/process.h"
#include "base/text.h"
#include "build/compile_emulated/compile.h"
#include "emulator/tokens.h"

namespace stitch::emulated {
namespace {

constexpr const char* headers[] = {"cuda_runtime.h",   "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h",
                                   "math_constants.h", "cublas_v2.h", "cublasLt.h",  "cudnn.h"};

// Structs shared with other code, and types that kernels load as a whole.
constexpr const char* types[] = {"cublasLtMatmulAlgo_t",
                                 "cublasLtMatmulHeuristicResult_t",
                                 "cublasLtMatrixLayoutOpaque_t",
                                 "cublasLtMatmulDescOpaque_t",
                                 "cublasLtMatmulPreferenceOpaque_t",
                                 "cudnnConvolutionFwdAlgoPerf_t",
                                 "cudnnConvolutionBwdDataAlgoPerf_t",
                                 "cudaKernelNodeParams",
                                 "cudaMemsetParams",
                                 "cudaHostNodeParams",
                                 "cudaPitchedPtr",
                                 "cudaExtent",
                                 "cudaPos",
                                 "cudaPointerAttributes",
                                 "cudaLaunchAttributeValue",
                                 "cudaGraphExecUpdateResultInfo",
                                 "dim3",
                                 "__half",
                                 "__half2",
                                 "__nv_bfloat16",
                                 "__nv_bfloat162",
                                 "__nv_fp8_e4m3",
                                 "__nv_fp8x2_e4m3",
                                 "__nv_fp8x4_e4m3"};

bool is_cuda_name(std::string_view name) {
  for (std::string_view start : {"cuda", "CUDA", "CUBLAS", "CUDNN", "__NV_"})
    if (name.starts_with(start)) return true;
  return false;
}
// Versions may differ.
bool is_version(std::string_view name) {
  for (std::string_view part : {"_VER", "_MAJOR", "_MINOR", "_PATCH"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

// Enumerators and constants: the first words in the braces of an enum, and the words before each = of a
// constexpr. In a header there is nothing else of this form.
void collect_declared(std::string_view source, std::set<std::string>& out) {
  const std::vector<Token> tokens = tokenize(source);
  auto text = [&](size_t i) { return source.substr(tokens[i].begin, tokens[i].end - tokens[i].begin); };
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool enumeration = text(i) == "enum",
               constant = text(i) == "constexpr" && i + 1 < tokens.size() &&
                          (text(i + 1) == "unsigned" || text(i + 1) == "int");
    if (!enumeration && !constant) continue;
    bool inside = constant;
    for (++i; i + 1 < tokens.size() && text(i) != ";" && text(i) != "}"; ++i) {
      inside |= text(i) == "{";
      const bool named = constant ? text(i + 1) == "=" : text(i - 1) == "{" || text(i - 1) == ",";
      if (inside && named && is_cuda_name(text(i))) out.emplace(text(i));
    }
  }
}
void collect_macros(std::string_view source, std::set<std::string>& out) {
  for (const std::string& line : split(source, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() == 3 && words[0] == "#define" && is_cuda_name(words[1]) && std::isdigit(words[2][0]))
      out.insert(words[1]);
  }
}

std::set<std::string> names_of_constants() {
  std::set<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(find_installation()->headers)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = *read_file(entry.path());
    collect_declared(text, out);
    collect_macros(text, out);
  }
  std::erase_if(out, is_version);
  return out;
}

std::vector<std::string> vector_types() {
  std::vector<std::string> out(std::begin(types), std::end(types));
  for (const char* element :
       {"char", "uchar", "short", "ushort", "int", "uint", "longlong", "ulonglong", "float", "double"})
    for (char count : {'1', '2', '3', '4'}) out.push_back(std::string(element) + count);
  return out;
}

constexpr double end_of_table = -123456789.125;

// The table is data of the object file, so nothing needs to be linked.
std::vector<double> compiled_table(const fs::path& program, const std::vector<std::string>& include_dirs,
                                   const fs::path& object) {
  std::vector<std::string> words = {"g++", "-std=c++20", "-O0", "-w"};
  for (const std::string& folder : include_dirs) words.push_back("-I" + folder);
  words.insert(words.end(), {"-c", program.string(), "-o", object.string()});
  auto compiled = run(Command{words, {{"LC_ALL", "C.UTF-8"}}});
  EXPECT_TRUE(compiled);
  EXPECT_EQ(compiled->exit_code, 0) << compiled->error_tail;
  std::vector<double> values;
  auto bytes = read_file(object);
  const size_t mark = bytes ? bytes->find("STITCH_TABLE") : std::string::npos;
  if (mark == std::string::npos) return values;
  for (size_t at = mark + 16; at + sizeof(double) <= bytes->size(); at += sizeof(double)) {
    double value = 0;
    std::memcpy(&value, bytes->data() + at, sizeof value);
    if (value == end_of_table) break;
    values.push_back(value);
  }
  return values;
}

TEST(Constants, AreNvidias) {
#ifndef STITCH_CUDA_INCLUDE
  GTEST_SKIP()
      << "no CUDA toolkit with cuBLAS and cuDNN was found at build time: OUR CONSTANTS WERE NOT COMPARED";
#else
  if (!find_program("g++")) GTEST_SKIP() << "no g++ here: OUR CONSTANTS WERE NOT COMPARED";
  auto folder = ScratchFolder::create("constants");
  std::vector<std::string> labels;
  std::string table;
  auto add = [&](const std::string& label, const std::string& value) {
    labels.push_back(label);
    table += "  (double)(" + value + "),\n";
  };
  for (const std::string& name : names_of_constants()) add(name, name);
  EXPECT_GT(labels.size(), 300u);
  for (const std::string& type : vector_types()) {
    add("sizeof " + type, "sizeof(" + type + ")");
    add("alignof " + type, "alignof(" + type + ")");
  }
  std::string program;
  for (const char* header : headers) program += std::string("#include <") + header + ">\n";
  program += "extern const struct { char mark[16]; double values[" + std::to_string(labels.size() + 1) +
             "]; } stitch_table;\nconst decltype(stitch_table) stitch_table = {\"STITCH_TABLE\", {\n" +
             table + "  -123456789.125}};\n";
  const fs::path source = folder->path() / "constants.cpp";
  ASSERT_TRUE(write_file(source, program));
  const auto ours =
      compiled_table(source, {find_installation()->headers.string()}, folder->path() / "ours.o");
  const auto theirs =
      compiled_table(source, {STITCH_CUDA_INCLUDE, STITCH_CUDNN_INCLUDE}, folder->path() / "theirs.o");
  ASSERT_EQ(ours.size(), labels.size());
  ASSERT_EQ(theirs.size(), labels.size());
  for (size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(ours[i], theirs[i]) << labels[i];
#endif
}

}  // namespace
}  // namespace stitch::emulated
