#include "build/compile_emulated/compile.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/machine/process.h"
#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

const fs::path testdata = fs::path(STITCH_SOURCE_DIR) / "src/emulator/testdata";

class Compile : public testing::Test {
 protected:
  fs::path write(const char* name, std::string_view text) {
    fs::path path = folder->path() / name;
    auto written = write_file(path, text);
    EXPECT_TRUE(written);
    return path;
  }
  Result<ScratchFolder> folder = ScratchFolder::create("emulated-test");
};

void check_matmul(const std::string& compiler) {
  auto folder = ScratchFolder::create("emulated-test");
  CompileOptions options;
  options.compiler = compiler;
  const auto begin = std::chrono::steady_clock::now();
  auto library = compile_emulated({testdata / "tiled_matmul.cu"}, folder->path() / "matmul.so", options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(library) << library.error().text();
  testing::Test::RecordProperty("compile_seconds", std::to_string(seconds));
  void* handle = dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  auto run_matmul =
      reinterpret_cast<int (*)(const float*, const float*, float*, int)>(dlsym(handle, "run_matmul"));
  ASSERT_TRUE(run_matmul);
  constexpr int n = 256;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[static_cast<size_t>(i)] = static_cast<float>(i % 13 - 6);
    b[static_cast<size_t>(i)] = static_cast<float>(i % 7 - 3);
  }
  ASSERT_EQ(run_matmul(a.data(), b.data(), c.data(), n), 0);
  for (size_t row = 0; row < n; row += 17)
    for (size_t column = 0; column < n; ++column) {
      float want = 1;
      for (size_t k = 0; k < n; ++k) want += a[row * n + k] * b[k * n + column];
      ASSERT_EQ(c[row * n + column], want);
    }
  dlclose(handle);
}
TEST_F(Compile, ATiledMatmulEndToEnd) { check_matmul("g++"); }
TEST_F(Compile, ATiledMatmulEndToEndWithClang) {
  if (!find_program("clang++")) GTEST_SKIP() << "no clang++ here";
  check_matmul("clang++");
}
void check_plausible(const std::string& compiler) {
  auto folder = ScratchFolder::create("emulated-test");
  CompileOptions options;
  options.compiler = compiler;
  auto library = compile_emulated({testdata / "plausible.cu"}, folder->path() / "plausible.so", options);
  ASSERT_TRUE(library) << library.error().text();
  void* handle = dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  auto run = reinterpret_cast<int (*)(float*)>(dlsym(handle, "run_plausible"));
  float result[4] = {};
  EXPECT_EQ(run(result), 0) << stitch_emulated_last_report();
  EXPECT_EQ((std::vector<float>(result, result + 4)), (std::vector<float>{64, 13, 128, 32}));
  dlclose(handle);
}
TEST_F(Compile, WhatGeneratedProgramsUse) { check_plausible("g++"); }
TEST_F(Compile, WhatGeneratedProgramsUseWithClang) {
  if (!find_program("clang++")) GTEST_SKIP() << "no clang++ here";
  check_plausible("clang++");
}
TEST_F(Compile, ErrorsNameTheOriginalFileAndLine) {
  fs::path source = write("bad.cu",
                          "__global__ void k(int* x) {\n  *x = 1;\n}\nvoid f(int* p) {\n  k<<<1, 1>>>(p);\n  "
                          "undefined_thing(p);\n}\n");
  auto got = compile_emulated({source}, folder->path() / "bad.so");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, "compile");
  EXPECT_NE(got.error().message.find(source.string() + ":6:"), std::string::npos) << got.error().message;
  EXPECT_NE(got.error().message.find("undefined_thing"), std::string::npos);
  EXPECT_EQ(got.error().message.find("stitch-emulated"), std::string::npos) << got.error().message;
}
TEST_F(Compile, WrongArgumentsNameTheLaunch) {
  fs::path source = write(
      "bad.cu",
      "template <class T>\n__global__ void k(T* x, int n) {}\n\nvoid f(float* p) {\n  k<<<1, 1>>>(p);\n}\n");
  auto got = compile_emulated({source}, folder->path() / "bad.so");
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find(source.string() + ":5:"), std::string::npos) << got.error().message;
}
TEST_F(Compile, ErrorsInHeadersNameTheHeader) {
  write("part.cuh", "#pragma once\n__device__ int twice(int x) { return 2 * y; }\n");
  fs::path source =
      write("main.cu", "#include \"part.cuh\"\n__global__ void k(int* x) { *x = twice(*x); }\n");
  auto got = compile_emulated({source}, folder->path() / "bad.so");
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find("part.cuh:2:"), std::string::npos) << got.error().message;
}
TEST_F(Compile, RefusalsInHeadersNameTheHeader) {
  fs::create_directories(folder->path() / "include");
  write("include/ptx.cuh", "#pragma once\n\n__device__ inline void f() { asm(\"nop;\"); }\n");
  fs::path source = write("main.cu", "#include <ptx.cuh>\n");
  CompileOptions options;
  options.include_dirs = {folder->path() / "include"};
  auto got = compile_emulated({source}, folder->path() / "bad.so", options);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, "not-emulated");
  EXPECT_EQ(got.error().where, (folder->path() / "include/ptx.cuh").string() + ":3");
}
TEST_F(Compile, AnUnknownFunctionIsAnErrorOfTheBuild) {
  fs::path source = write("bad.cu", "void elsewhere();\nextern \"C\" void f() { elsewhere(); }\n");
  auto got = compile_emulated({source}, folder->path() / "bad.so");
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find("elsewhere"), std::string::npos);
}
TEST_F(Compile, SeveralSourcesAndFlags) {
  fs::path one = write("one.cu", "__device__ int seven = SEVEN;\n");
  fs::path two = write("two.cu",
                       "extern __device__ int seven;\n__global__ void k(int* x) { *x = seven; }\n"
                       "extern \"C\" int f() { int* x; cudaMallocManaged(&x, 4); k<<<1, 1>>>(x); int y = *x; "
                       "cudaFree(x); return y; }\n");
  CompileOptions options;
  options.extra_flags = {"-DSEVEN=7"};
  auto got = compile_emulated({one, two}, folder->path() / "two.so", options);
  ASSERT_TRUE(got) << got.error().text();
  void* handle = dlopen(got->c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(handle, "f"))(), 7);
  dlclose(handle);
}
TEST_F(Compile, AMissingSourceIsSaid) {
  auto got = compile_emulated({folder->path() / "absent.cu"}, folder->path() / "x.so");
  ASSERT_FALSE(got);
  EXPECT_FALSE(compile_emulated({}, folder->path() / "x.so"));
}
TEST_F(Compile, AddressSanitizerNamesTheKernelsLine) {
  CompileOptions options;
  options.asan = options.executable = true;
  auto program = compile_emulated({testdata / "out_of_bounds.cu"}, folder->path() / "asan", options);
  ASSERT_TRUE(program) << program.error().text();
  auto finished = run({{program->string()}, {{"ASAN_OPTIONS", "detect_leaks=0"}}, std::chrono::seconds(30)});
  ASSERT_TRUE(finished);
  EXPECT_NE(finished->exit_code, 0);
  EXPECT_NE(finished->error_tail.find("heap-buffer-overflow"), std::string::npos) << finished->error_tail;
  EXPECT_NE(finished->error_tail.find("out_of_bounds.cu:8"), std::string::npos) << finished->error_tail;
}
TEST_F(Compile, WithoutAddressSanitizerTheGuardFindsIt) {
  STITCH_SKIP_UNDER_ASAN();  // the runtime library is part of it
  CompileOptions options;
  options.executable = true;
  auto program = compile_emulated({testdata / "out_of_bounds.cu"}, folder->path() / "plain", options);
  ASSERT_TRUE(program) << program.error().text();
  auto finished = run({{program->string()}, {}, std::chrono::seconds(30)});
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit_code, 700 & 255);  // cudaErrorIllegalAddress
}

}  // namespace
}  // namespace stitch::emulated
