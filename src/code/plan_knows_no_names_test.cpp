// The Planner knows techniques by their interface and GPUs by GpuSpec: no technique's name in plan/, and no
// GPU's multiprocessor count, or a multiple of it, in plan/, code/ or the headers that programs include.
// Passes don't know of GPUs at all.
#include <gtest/gtest.h>

#include <bit>
#include <regex>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "gpu/gpu_spec.h"

namespace stitch::code {
namespace {

// FILE:LINE: TEXT of every line that `expression` is found in; tests aside, and comments unless asked for.
std::vector<std::string> lines_with(const std::string& folder, const std::string& expression,
                                    bool in_comments = false) {
  const std::regex wanted(expression);
  const fs::path root = fs::path(STITCH_SOURCE_DIR) / "src" / folder;
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string path = entry.path().lexically_relative(root).string();
    const std::string kind = entry.path().extension().string();
    if ((kind != ".h" && kind != ".cpp") || path.find("_test.cpp") != path.npos ||
        path.find("testdata/") != path.npos || path.find("emulated/") != path.npos ||
        path.find("bench/") != path.npos)
      continue;
    auto text = read_file(entry.path());
    EXPECT_TRUE(text) << path;
    int number = 0;
    for (const std::string& line : split(text ? *text : "", '\n')) {
      ++number;
      const std::string code = in_comments ? line : line.substr(0, line.find("//"));
      if (std::regex_search(code, wanted)) out.push_back(format("{}/{}:{}: {}", folder, path, number, line));
    }
  }
  return out;
}

TEST(Planner, NamesNoTechnique) {
  std::vector<std::string> names;
  for (const plan::Technique* technique : catalogue().all())
    names.push_back(std::regex_replace(std::string(technique->name()), std::regex("\\."), "\\."));
  ASSERT_GT(names.size(), 20u);
  EXPECT_EQ(lines_with("plan", "\"(" + join(names, "|") + ")\""), std::vector<std::string>());
  EXPECT_NE(lines_with("code/products", "\"matmul\\.cublaslt\""), std::vector<std::string>()) << "it looks";
}

TEST(Passes, NameNoGpu) {
  std::vector<std::string> names = {"GpuSpec", "gpu/"};
  for (const GpuSpec& gpu : all_gpus()) names.push_back(gpu.name);
  EXPECT_EQ(lines_with("passes", join(names, "|"), true), std::vector<std::string>());
  EXPECT_NE(lines_with("plan", "GpuSpec"), std::vector<std::string>()) << "it looks";
}

TEST(Planner, KnowsGpusByTheirSpecAlone) {
  std::set<std::string> counts;
  // Powers of two and small numbers mean something else most of the time.
  for (const GpuSpec& gpu : all_gpus())
    for (const int waves : {1, 6, 8})
      if (gpu.sms > 100 && !std::has_single_bit(static_cast<unsigned>(gpu.sms)))
        counts.insert(std::to_string(waves * gpu.sms));
  ASSERT_GT(counts.size(), 3u);
  const std::string any = "\\b(" + join(std::vector<std::string>(counts.begin(), counts.end()), "|") + ")\\b";
  EXPECT_EQ(lines_with("plan", any), std::vector<std::string>());
  EXPECT_EQ(lines_with("code", any), std::vector<std::string>());
  EXPECT_EQ(lines_with("program/include/stitch/kernels", any), std::vector<std::string>());
  EXPECT_EQ(lines_with("program/include/stitch/runtime", any), std::vector<std::string>());
}

}  // namespace
}  // namespace stitch::code
