// Programs may launch kernels before those in front of them have ended (ProgrammaticLaunches): a kernel that
// doesn't wait first reads what isn't there yet, now and then. So every kernel begins with the wait.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"

namespace stitch::code {
namespace {

// The first statement of every kernel in a source, where it isn't the wait.
std::vector<std::string> kernels_without_wait(const std::string& text, int& kernels) {
  std::vector<std::string> out;
  for (size_t at = text.find("__global__ "); at != text.npos; at = text.find("__global__ ", at + 1)) {
    int open = 0;
    size_t body = at;
    while (body < text.size() && (open != 0 || text[body] != '{')) {
      open += text[body] == '(' ? 1 : text[body] == ')' ? -1 : 0;
      ++body;
    }
    ++kernels;
    const size_t line = text.find('\n', body);  // past the last parameter's shape
    const size_t first = line == text.npos ? line : text.find_first_not_of(" \n", line);
    const std::string statement = first == text.npos ? "" : text.substr(first, text.find(';', first) - first);
    if (statement != "wait_for_previous_kernel()" && statement != "stitch::wait_for_previous_kernel()")
      out.push_back(statement);
  }
  return out;
}

TEST(Kernels, BeginWithAWaitForThePreviousOne) {
  int kernels = 0;
  for (const char* folder : {"src/program/include/stitch/kernels", "src/code/testdata/golden"})
    for (const auto& entry : fs::directory_iterator(fs::path(STITCH_SOURCE_DIR) / folder)) {
      const std::string kind = entry.path().extension().string();
      if (kind != ".h" && kind != ".cu") continue;
      auto text = read_file(entry.path());
      ASSERT_TRUE(text) << entry.path();
      EXPECT_EQ(kernels_without_wait(*text, kernels), std::vector<std::string>()) << entry.path();
    }
  EXPECT_GT(kernels, 56);
}

TEST(Kernels, OneWithoutAWaitIsFound) {
  int kernels = 0;
  EXPECT_EQ(kernels_without_wait("__global__ void f(int (*g)(int)) {\n  g(1);\n}\n", kernels),
            std::vector<std::string>{"g(1)"});
  EXPECT_EQ(kernels, 1);
}

}  // namespace
}  // namespace stitch::code
