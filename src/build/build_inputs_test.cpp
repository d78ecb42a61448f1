// Cache keys of objects, and which files a compiler can read.
#include "build/build_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/digest/sha256.h"
#include "build/build.h"
#include "sandbox/sandbox.h"

namespace stitch::build {
namespace {

TEST(BuildInputs, ReadsDependencyRules) {
  EXPECT_EQ(files_in_rule("a.o: a.cu \\\n  /usr/in\\ clude/x.h \\\n b$$.h\n\nx.h:\n"),
            (std::vector<std::string>{"a.cu", "/usr/in clude/x.h", "b$.h"}));
  EXPECT_TRUE(files_in_rule("").empty());
}

class BuildReads : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    auto folder = ScratchFolder::create("stitch-build-test");
    ASSERT_TRUE(folder);
    scratch_.emplace(*std::move(folder));
    folder_ = scratch_->path() / "program";
    fs::create_directories(folder_ / "include");
    ::setenv("STITCHCUDA_CACHE", (scratch_->path() / "cache").c_str(), 1);
    if (GetParam() == Target::cuda)
      if (auto nvcc = find_nvcc(); !nvcc) GTEST_SKIP() << nvcc.error().text();
    // There, sources that name files by macros are refused.
    if (!sandbox::keeps_files_apart()) GTEST_SKIP() << "nothing on this machine keeps files apart";
  }
  fs::path write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(folder_ / name, text));
    return folder_ / name;
  }
  Result<Built> make(const std::string& text, bool alone = false) {
    BuildRequest request;
    request.sources = {write("a.cu", text)};
    request.alone = alone;
    request.include_dirs = {folder_ / "include"};
    request.target = GetParam();
    return build(request);
  }
  // Builds again, and again after data.h, which it reads indirectly, has changed.
  void expect_known_by_its_header(const std::string& how, const std::string& text) {
    write("data.h", "#define ANSWER 1\n");
    auto first = make(text);
    ASSERT_TRUE(first) << how << ": " << first.error().text();
    EXPECT_EQ(make(text)->compiled, 0) << how;
    EXPECT_TRUE(std::ranges::any_of(first->read, [](const auto& file) {
      return file.first.extension() == ".h" && file.second == sha256("#define ANSWER 1\n");
    })) << how;
    write("data.h", "#define ANSWER 2\n");
    auto second = make(text);
    ASSERT_TRUE(second) << how << ": " << second.error().text();
    EXPECT_EQ(second->compiled, 1) << "an old object for a new header " << how;
    EXPECT_NE(second->hash, first->hash) << how;
  }
  std::optional<ScratchFolder> scratch_;
  fs::path folder_;
  const std::string answer_ = "extern \"C\" int answer() { return ANSWER; }\n";
};

TEST_P(BuildReads, WhatTheObjectIsKnownBy) {
  expect_known_by_its_header("behind a raw string",
                             "const char* text = R\"(\" /* )\";\n#include \"data.h\"\n" + answer_);
  if (GetParam() == Target::cuda) {  // the emulated GPU has no assembler
    write("data.h", "#define ANSWER 1\n");
    auto embedded = make(
        format("#define ANSWER 1\n__asm__(\".inc\" \"bin \\\"{}\\\"\");\n", (folder_ / "data.h").string()) +
        answer_);
    ASSERT_FALSE(embedded);
    EXPECT_NE(embedded.error().message.find("read by the assembler"), std::string::npos)
        << embedded.error().text();
    return;
  }
  expect_known_by_its_header("by a macro", "#define NAME \"data.h\"\n#include NAME\n" + answer_);
  fs::create_symlink("data.h", folder_ / "link.h");
  expect_known_by_its_header("by a link", "#include \"link.h\"\n" + answer_);
}

TEST_P(BuildReads, WhatIsNotThereToo) {
  if (GetParam() == Target::cuda) GTEST_SKIP() << "the same preprocessor";
  for (const char* has :
       {"#if __has_include(\"other.h\")\n", "#define HAS __has_include\n#if HAS(\"other.h\")\n"}) {
    const std::string text =
        has + std::string("#define ANSWER 3\n#else\n#define ANSWER 4\n#endif\n") + answer_;
    auto without = make(text);
    ASSERT_TRUE(without) << without.error().text();
    const fs::path other = write("other.h", "\n");
    auto with = make(text);
    ASSERT_TRUE(with) << with.error().text();
    EXPECT_NE(with->hash, without->hash) << has;
    fs::remove(other);
  }
}

TEST_P(BuildReads, OnlyWhatASingleSourceIncludes) {
  write("own.h", "#define ANSWER 1\n");
  write("neighbour.txt", "#define ANSWER 1\n");
  auto built = make("\xef\xbb\xbf#include \"own.h\"\n" + answer_, true);  // after a byte-order mark
  ASSERT_TRUE(built) << built.error().text();
  const std::string hidden = "#define NAME \"neighbour.txt\"\n#include NAME\n" + answer_;
  EXPECT_FALSE(make(hidden, true)) << "it read a file beside it that it doesn't include";
  EXPECT_TRUE(make(hidden)) << "a program's folder is its own";
}

INSTANTIATE_TEST_SUITE_P(All, BuildReads, testing::Values(Target::emulated, Target::cuda),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace stitch::build
