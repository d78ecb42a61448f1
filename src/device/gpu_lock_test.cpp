#include "device/gpu_lock.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"

namespace stitch::device {

TEST(GpuLock, IsGivenBackAndTakenOnceAProcess) {
  auto scratch = ScratchFolder::create("stitchcuda-gpu-lock");
  ASSERT_TRUE(scratch);
  const char* before = std::getenv("STITCHCUDA_CACHE");
  std::string kept = before ? before : "";
  ::setenv("STITCHCUDA_CACHE", scratch->path().c_str(), 1);
  auto is_free = [] { return FileLock::if_free("gpu.lock")->has_value(); };
  {
    auto alone = GpuLock::take();
    ASSERT_TRUE(alone);
    EXPECT_FALSE(is_free());
    EXPECT_TRUE(GpuLock::share()) << "this process has it already";
    GpuLock moved = *std::move(alone);
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
  {
    auto shared = GpuLock::share();
    ASSERT_TRUE(shared);
    EXPECT_FALSE(is_free()) << "alone nobody gets it";
    EXPECT_TRUE(FileLock::wait("gpu.lock", FileLock::Kind::beside_others));
  }
  EXPECT_TRUE(is_free());
  before ? ::setenv("STITCHCUDA_CACHE", kept.c_str(), 1) : ::unsetenv("STITCHCUDA_CACHE");
}

}  // namespace stitch::device
