// The candidate of docs/c-abi.md is what a reader copies: it builds and passes as it stands there.
#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "cli/run_cli.h"
#include "llm/answers/fences.h"

namespace stitch {
namespace {

TEST(CAbiPage, HasACandidateThatPasses) {
  auto scratch = ScratchFolder::create("stitch-c-abi");
  ASSERT_TRUE(scratch);
  auto page = read_file(fs::path(STITCH_SOURCE_DIR) / "docs/c-abi.md");
  ASSERT_TRUE(page) << page.error().text();
  const std::string task = scratch->path() / "task.py", candidate = scratch->path() / "candidate.cu";
  for (const llm::Fence& fence : llm::fences_in(*page)) {
    if (fence.language != "python" && fence.language != "cuda") continue;
    ASSERT_TRUE(write_file(fence.language == "cuda" ? candidate : task, fence.text));
  }
  const char* words[] = {"stitchcuda", "verify",   candidate.c_str(), "--task",
                         task.c_str(), "--device", "emulated"};
  std::ostringstream out, err;
  EXPECT_EQ(run_cli(std::size(words), words, out, err), 0) << out.str() << err.str();
}

}  // namespace
}  // namespace stitch
