#include "build/build.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/machine/parallel.h"
#include "build/build_cache.h"
#include "build/cuda/resources.h"
#include "build/toolchain.h"

namespace stitch::build {
namespace {

class Build : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    auto folder = ScratchFolder::create("stitch-build-test");
    ASSERT_TRUE(folder);
    scratch_.emplace(*std::move(folder));
    ::setenv("STITCHCUDA_CACHE", (scratch_->path() / "cache").c_str(), 1);
    fs::create_directories(scratch_->path() / "program/include");
    if (GetParam() == Target::cuda)
      if (auto nvcc = find_nvcc(); !nvcc) GTEST_SKIP() << nvcc.error().text();
  }
  fs::path write(const std::string& name, const std::string& text) {
    const fs::path path = scratch_->path() / "program" / name;
    EXPECT_TRUE(write_file(path, text));
    return path;
  }
  Result<Built> make(std::vector<fs::path> sources, std::vector<fs::path> shareable = {}) {
    BuildRequest request;
    request.sources = std::move(sources);
    request.shareable = std::move(shareable);
    request.include_dirs = {scratch_->path() / "program/include"};
    request.target = GetParam();
    request.time_limit = time_limit_;
    return build(request);
  }
  // The error message.
  std::string failure(std::vector<fs::path> sources, std::vector<fs::path> shareable = {}) {
    auto built = make(std::move(sources), std::move(shareable));
    if (built) return "it was built";
    EXPECT_EQ(built.error().code, "build_failed") << built.error().text();
    EXPECT_EQ(built.error().blame, Error::Blame::user);
    return built.error().text();
  }
  std::optional<ScratchFolder> scratch_;
  std::chrono::milliseconds time_limit_{120'000};
};

const char* const two = "#include \"two.h\"\n__global__ void k(float* x) { *x = two; }\n";
const char* const plain = "extern \"C\" int one() { return 1; }\n";

TEST_P(Build, CompilesOnceAndOnlyWhatChanged) {
  write("include/two.h", "constexpr int two = 2;\n");
  const fs::path a = write("a.cu", two), b = write("b.cu", plain);
  auto first = make({a, b});
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->compiled, 2);
  EXPECT_TRUE(fs::exists(first->library));

  auto second = make({a, b});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->compiled, 0);
  EXPECT_EQ(second->reused, 2);
  EXPECT_EQ(second->hash, first->hash);

  write("include/two.h", "constexpr int two = 3;\n");
  auto third = make({a, b});
  ASSERT_TRUE(third);
  EXPECT_EQ(third->compiled, 1) << "only a.cu includes the header";
  EXPECT_NE(third->library, first->library);

  write("include/two.h", "constexpr int two = 2;\n");
  EXPECT_EQ(make({a, b})->compiled, 0);
}

TEST_P(Build, SharesUnitsAndKeepsThoseThatDidNotChange) {
  std::vector<fs::path> sources;
  auto region = [&](int number, int answer) {
    return write(format("r{}.cu", number),
                 format("#include \"two.h\"\nnamespace {{\n__global__ void kernel_{0}(float* x) {{ *x = two; "
                        "}}\n}}\nint r{0}() {{ return {1}; }}\n",
                        number, answer));
  };
  write("include/two.h", "#pragma once\nconstexpr int two = 2;\n");
  for (int i = 0; i < 17; ++i) sources.push_back(region(i, i));
  auto first = make(sources, sources);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->compiled, 17);
  EXPECT_EQ(first->resources.size(), GetParam() == Target::cuda ? 17u : 0u);
  EXPECT_EQ(make(sources, sources)->compiled, 0);

  region(7, 70);
  auto second = make(sources, sources);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_GT(second->compiled, 0);
  EXPECT_LT(second->compiled, 17) << "the changed one, with those it shared a unit with";
  region(7, 7);
  EXPECT_EQ(make(sources, sources)->compiled, 0);
}

TEST_P(Build, CompilesAloneWhatCannotShare) {
  std::vector<fs::path> clash, bad;
  for (int i = 0; i < 2 * core_count(); ++i) {
    const std::string own = format("int r{}() {{ return 1; }}\n", i);
    clash.push_back(write(format("clash{}.cu", i), "namespace {\nstruct Same {};\n}\n" + own));
    bad.push_back(write(format("bad{}.cu", i), (i == 1 ? "\nint f() { return nothing; }\n" : "") + own));
  }
  auto built = make(clash, clash);
  ASSERT_TRUE(built) << built.error().text();
  EXPECT_EQ(make(clash, clash)->compiled, 0);
  const std::string message = failure(bad, bad);
  EXPECT_EQ(message.find(bad[1].string() + ":2: "), 0u) << message;
}

TEST_P(Build, NamesTheFirstErrorWithFileAndLine) {
  const fs::path good = write("good.cu", plain);
  const fs::path bad = write("bad.cu", "\n\nint f() { return nothing; }\nint g() { return nothing_else; }\n");
  const std::string message = failure({good, bad});
  EXPECT_EQ(message.find(bad.string() + ":3: "), 0u) << message;
  EXPECT_NE(message.find(bad.string() + ":4: "), std::string::npos) << message;
  EXPECT_EQ(message.find("/tmp/stitch-build."), std::string::npos) << message;
}

TEST_P(Build, NamesWhatIsMissingWhenLinking) {
  const std::string message = failure({write("a.cu", "int missing(int);\nint f() { return missing(1); }\n")});
  EXPECT_NE(message.find("undefined reference to `missing(int)'"), std::string::npos) << message;
}

TEST_P(Build, RefusesToReadOutsideTheProgram) {
  EXPECT_NE(failure({write("a.cu", "#include \"/etc/passwd\"\n")}).find("a.cu:1: includes \"/etc/passwd\""),
            std::string::npos);
  EXPECT_NE(
      failure({write("a.cu", "#include <../../../../../../../etc/passwd>\n")}).find("outside of the program"),
      std::string::npos);
  EXPECT_NE(
      failure({write("a.cu", "\n#/**/inc\\\nlude \"/dev/zero\"\n")}).find("a.cu:2: includes \"/dev/zero\""),
      std::string::npos);
  const fs::path link = scratch_->path() / "program/link.h";
  fs::create_symlink("/etc/passwd", link);
  EXPECT_NE(failure({write("a.cu", "#include \"link.h\"\n")}).find("outside of the program"),
            std::string::npos);
}

TEST_P(Build, LeaksNothingThroughTheCompiler) {
  // By the compiler's sandbox, or without one by refusing such sources.
  for (const char* source : {"#define FILE_NAME \"/etc/passwd\"\n#include FILE_NAME\n",
                             "__asm__(\".incbin \\\"/etc/passwd\\\"\");\n",
                             "#define FILE_NAME \"/dev/zero\"\n#include FILE_NAME\n"}) {
    const std::string message = failure({write("a.cu", source)});
    EXPECT_EQ(message.find("root:"), std::string::npos) << message;
  }
}

TEST_P(Build, EndsWithEndlessTemplates) {
  time_limit_ = std::chrono::milliseconds(5'000);
  const std::string source =
      "template <int A, int B> struct S { static constexpr long v = S<A - 1, B>::v + S<A - 1, B + 1>::v; };\n"
      "template <int B> struct S<0, B> { static constexpr long v = B; };\nlong f() { return S<800, 0>::v; "
      "}\n";
  const auto start = std::chrono::steady_clock::now();
  const std::string message = failure({write("a.cu", source)});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_NE(message, "it was built");
}

TEST_P(Build, StopsACompilerThatIsOutOfTime) {
  time_limit_ = std::chrono::milliseconds(150);
  const std::string message =
      failure({write("a.cu", "#include <algorithm>\n#include <map>\n#include <string>\n")});
  EXPECT_NE(message.find("the compiler was still running after"), std::string::npos) << message;
}

TEST_P(Build, NoticesABrokenCacheEntry) {
  const fs::path a = write("a.cu", plain);
  auto first = make({a});
  ASSERT_TRUE(first) << first.error().text();
  for (const auto& entry : fs::recursive_directory_iterator(scratch_->path() / "cache"))
    if (entry.path().extension() == ".o" || entry.path().extension() == ".so")
      std::ofstream(entry.path(), std::ios::binary | std::ios::app) << "x";
  auto second = make({a});
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->compiled, 1);
  EXPECT_EQ(make({a})->compiled, 0);
}

TEST_P(Build, IsDoneOnceByTwoAtOnce) {
  const fs::path a = write("a.cu", plain);
  std::optional<Result<Built>> one, other;
  std::thread first([&] { one = make({a}); }), second([&] { other = make({a}); });
  first.join();
  second.join();
  ASSERT_TRUE(*one && *other);
  EXPECT_EQ((**one).compiled + (**other).compiled, 1);
  EXPECT_EQ((**one).hash, (**other).hash);
}

INSTANTIATE_TEST_SUITE_P(All, Build, testing::Values(Target::emulated, Target::cuda),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(BuildCuda, TellsWhatEachKernelTakes) {
  if (auto nvcc = find_nvcc(); !nvcc) GTEST_SKIP() << nvcc.error().text();
  auto scratch = ScratchFolder::create("stitch-build-test");
  ASSERT_TRUE(scratch);
  ::setenv("STITCHCUDA_CACHE", scratch->path().c_str(), 1);
  BuildRequest request;
  request.target = Target::cuda;
  request.sources = {scratch->path() / "a.cu"};
  ASSERT_TRUE(write_file(request.sources[0],
                         "template <class T> __global__ void twice(T* x) { *x *= 2; }\n"
                         "template __global__ void twice<float>(float*);\n"));
  auto built = build(request);
  ASSERT_TRUE(built) << built.error().text();
  ASSERT_EQ(built->resources.size(), 1u);
  EXPECT_EQ(built->resources[0].kernel, "void twice<float>(float*)");
  EXPECT_GT(built->resources[0].registers, 0);
  EXPECT_EQ(build(request)->resources.size(), 1u) << "also when it comes from the cache";
}

TEST(BuildCuda, IsForOneArchitecture) {
  if (auto nvcc = find_nvcc(); !nvcc) GTEST_SKIP() << nvcc.error().text();
  auto scratch = ScratchFolder::create("stitch-build-test");
  ASSERT_TRUE(scratch);
  ::setenv("STITCHCUDA_CACHE", scratch->path().c_str(), 1);
  BuildRequest request;
  request.target = Target::cuda;
  request.sources = {scratch->path() / "a.cu"};
  ASSERT_TRUE(
      write_file(request.sources[0],
                 "__global__ void f(int* x) {\n#if __CUDA_ARCH__ > 1000\n  *x = nothing;\n#endif\n}\n"));
  request.architecture = "sm_86";
  EXPECT_TRUE(build(request));
  request.architecture = "sm_120";
  EXPECT_FALSE(build(request)) << "an object of another architecture was used";
  request.architecture = "sm_75";
  request.needs = "sm_80";
  auto older = build(request);
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().message, "the program needs sm_80, and this is sm_75");
}

TEST(BuildResources, AreReadFromPtxas) {
  auto resources = parse_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z3bigPfi' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z3bigPfi\n"
      "    800 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 25 registers, used 1 barriers, 800 bytes cumulative stack size, 400 bytes smem, "
      "356 bytes cmem[0], 8 bytes cmem[2]\n");
  ASSERT_EQ(resources.size(), 1u);
  EXPECT_EQ(resources[0].kernel, "big(float*, int)");
  EXPECT_EQ(resources[0].registers, 25);
  EXPECT_EQ(resources[0].stack_bytes, 800);
  EXPECT_EQ(resources[0].spill_bytes, 28);
  EXPECT_EQ(resources[0].shared_bytes, 400);
  EXPECT_EQ(resources[0].constant_bytes, 364);
}

TEST(BuildErrors, AreShortenedAndSaidOnce) {
  EXPECT_EQ(shortened_errors("a.cu(3): error: identifier \"x\" is undefined\n  int y = x;\n          ^\n\n"
                             "a.cu(3): error: identifier \"x\" is undefined\n  int y = x;\n"
                             "2 errors detected in the compilation of \"a.cu\".\n",
                             ""),
            "a.cu:3: identifier \"x\" is undefined\n  int y = x;\n          ^");
  EXPECT_EQ(shortened_errors("/scratch/a.cu:3:14: error: no\n", "/scratch/"), "a.cu:3: no");
  EXPECT_EQ(shortened_errors("ptxas /tmp/x.ptx, line 21; error   : Unknown modifier '.bar'\n"
                             "ptxas fatal   : Ptx assembly aborted due to errors\n",
                             ""),
            "in inline PTX: Unknown modifier '.bar'");
  EXPECT_NE(build_failure("cc1plus: out of memory allocating 65536 bytes", "", 1)
                .message.find("exceeded its memory limit"),
            std::string::npos);
}

TEST(BuildCache, ForgetsTheOldest) {
  auto scratch = ScratchFolder::create("stitch-cache-test");
  ASSERT_TRUE(scratch);
  auto cache = BuildCache::open(scratch->path() / "cache", 1000);
  ASSERT_TRUE(cache);
  const fs::path file = scratch->path() / "file";
  for (const char* key : {"aaaa", "bbbb"}) {
    ASSERT_TRUE(write_file(file, std::string(700, key[0])));
    ASSERT_TRUE(cache->publish(key, file, "object.o", "said"));
  }
  const auto hours_ago = fs::file_time_type::clock::now() - std::chrono::hours(5);
  fs::last_write_time(scratch->path() / "cache/aa/aaaa/entry.json", hours_ago);
  EXPECT_EQ(cache->find("bbbb")->notes, "said");
  cache->trim();
  EXPECT_FALSE(cache->find("aaaa"));
  EXPECT_TRUE(cache->find("bbbb")) << "used within the hour";
}

}  // namespace
}  // namespace stitch::build
