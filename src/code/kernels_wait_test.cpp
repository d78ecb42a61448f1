// Programs may launch kernels before those in front of them have ended (ProgrammaticLaunches): a kernel that
// doesn't wait first reads what isn't there yet, now and then. So every kernel begins with the wait.
#include <gtest/gtest.h>

#include "base/file.h"
#include "code/kernels_wait.h"

namespace stitch::code {
namespace {

TEST(Kernels, BeginWithAWaitForThePreviousOne) {
  int kernels = 0;
  for (const char* folder : {"src/program/include/stitch/kernels", "src/code/testdata/golden"})
    for (const auto& entry : fs::directory_iterator(fs::path(STITCH_SOURCE_DIR) / folder)) {
      const std::string kind = entry.path().extension().string();
      if (kind != ".h" && kind != ".cu") continue;
      auto text = read_file(entry.path());
      ASSERT_TRUE(text) << entry.path();
      const Waits waits = waits_of(*text);
      kernels += waits.kernels;
      EXPECT_EQ(waits.without, std::vector<std::string>()) << entry.path();
    }
  EXPECT_GT(kernels, 56);
}

TEST(Kernels, OneWithoutAWaitIsFound) {
  const Waits waits = waits_of("__global__ void f(int (*g)(int)) {\n  g(1);\n}\n__global__ void h();\n");
  EXPECT_EQ(waits.without, std::vector<std::string>{"g(1)"});
  EXPECT_EQ(waits.kernels, 1);
}

TEST(Kernels, OfASourceAreReadToTheWaitAndNoFurther) {
  const std::string kernel = "__global__ void f() {\n  // first\n  stitch::wait_for_previous_kernel();\n}\n";
  const std::string rash = "__global__ void g() { __syncthreads(); }\n", launch = "int h() { launch(f); }\n";
  EXPECT_TRUE(launches_wait(kernel + launch));
  EXPECT_FALSE(launches_wait(kernel + rash + launch));
  // Without the attribute a launch waits for all of its predecessor.
  EXPECT_TRUE(launches_wait(rash + "int h() { g<<<1, 1>>>(); }\n"));
  // What can't be read is taken not to wait.
  EXPECT_FALSE(launches_wait("#define KERNEL __global__ void\nKERNEL g() {}\n" + launch));
  EXPECT_FALSE(launches_wait(kernel + "#if !STITCH_EMULATED\n" + rash + "#endif\n" + launch));
}

}  // namespace
}  // namespace stitch::code
