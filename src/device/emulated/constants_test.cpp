// Every number in our headers against NVIDIA's: one program that prints them all, compiled against each.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "base/process.h"
#include "device/emulated/compile.h"

namespace stitch::emulated {
namespace {

constexpr const char* headers[] = {"cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h",
                                   "cublas_v2.h",    "cublasLt.h",  "cudnn.h"};

// Structs that cross the border between a program and memory that others read, and types that kernels load
// whole.
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

std::string without_comments(std::string text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) i = std::min(text.size(), text.find('\n', i));
    if (i < text.size()) out += text[i];
  }
  return out;
}

// Enumerators, constants and numeric macros that carry CUDA's names.
std::set<std::string> names_of_constants() {
  std::set<std::string> out;
  const std::regex word("\\b((?:cuda|CUDA|CUBLAS|CUDNN|__NV_)\\w+)\\s*(?:=|,|$)");
  const std::regex enumeration("enum\\s+\\w+[^{;]*\\{([^}]*)\\}");
  const std::regex constant("constexpr\\s+(?:unsigned|int)\\s+([^;]*);");
  const std::regex macro("#define ((?:CUBLAS|CUDNN)_\\w+) [-0-9.U]+\\n");
  const fs::path folder = find_installation()->headers;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = without_comments(*read_file(entry.path()));
    auto collect = [&](const std::string& from, const std::regex& what) {
      for (std::sregex_iterator it(from.begin(), from.end(), what), end; it != end; ++it)
        out.insert((*it)[1]);
    };
    for (const std::regex& list : {enumeration, constant})
      for (std::sregex_iterator it(text.begin(), text.end(), list), end; it != end; ++it)
        collect((*it)[1].str() + ",", word);
    collect(text, macro);
  }
  // These say which version is there, and may differ.
  std::erase_if(out, [](const std::string& name) {
    return name.find("_VER") != std::string::npos || name.find("_MAJOR") != std::string::npos ||
           name.find("_MINOR") != std::string::npos || name.find("_PATCH") != std::string::npos;
  });
  return out;
}

std::vector<std::string> vector_types() {
  std::vector<std::string> out(std::begin(types), std::end(types));
  for (const char* element :
       {"char", "uchar", "short", "ushort", "int", "uint", "longlong", "ulonglong", "float", "double"})
    for (char count : {'1', '2', '3', '4'}) out.push_back(std::string(element) + count);
  return out;
}

std::vector<std::string> printed(const fs::path& program, const std::vector<std::string>& include_dirs,
                                 const fs::path& out) {
  std::vector<std::string> words = {"g++", "-std=c++20", "-O0", "-w"};
  for (const std::string& folder : include_dirs) words.push_back("-I" + folder);
  words.insert(words.end(), {"-c", program.string(), "-o", out.string() + ".o"});
  auto compiled = run(Command{words, {{"LC_ALL", "C.UTF-8"}}});
  EXPECT_TRUE(compiled);
  EXPECT_EQ(compiled->exit_code, 0) << compiled->error_tail;
  // The table is data of the object file, so nothing has to be linked, neither our runtime nor NVIDIA's.
  std::vector<std::string> lines;
  auto read = read_file(out.string() + ".o");
  if (!read) return lines;
  const std::string mark = "STITCH_TABLE";
  const size_t at = read->find(mark);
  EXPECT_NE(at, std::string::npos);
  if (at == std::string::npos) return lines;
  const auto* numbers = reinterpret_cast<const unsigned char*>(read->data() + at + 16);
  for (;; numbers += 8) {
    long long value = 0;
    std::memcpy(&value, numbers, 8);
    if (value == 0x7EADBEEF7EADBEEF) return lines;
    lines.push_back(std::to_string(value));
  }
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
    table += "  (long long)(" + value + "),\n";
  };
  for (const std::string& name : names_of_constants()) add(name, name);
  EXPECT_GT(labels.size(), 300u);
  for (const std::string& type : vector_types()) {
    add("sizeof " + type, "sizeof(" + type + ")");
    add("alignof " + type, "alignof(" + type + ")");
  }
  std::string program;
  for (const char* header : headers) program += std::string("#include <") + header + ">\n";
  program += "extern const struct { char mark[16]; long long values[" + std::to_string(labels.size() + 1) +
             "]; } stitch_table;\nconst decltype(stitch_table) stitch_table = {\"STITCH_TABLE\", {\n" +
             table + "  0x7EADBEEF7EADBEEF}};\n";
  const fs::path source = folder->path() / "constants.cpp";
  ASSERT_TRUE(write_file(source, program));
  const auto ours = printed(source, {find_installation()->headers.string()}, folder->path() / "ours");
  const auto theirs = printed(source, {STITCH_CUDA_INCLUDE, STITCH_CUDNN_INCLUDE}, folder->path() / "theirs");
  ASSERT_EQ(ours.size(), labels.size());
  ASSERT_EQ(theirs.size(), labels.size());
  for (size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(ours[i], theirs[i]) << labels[i];
#endif
}

}  // namespace
}  // namespace stitch::emulated
