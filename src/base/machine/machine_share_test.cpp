#include "base/machine/machine_share.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/file.h"

namespace stitch {

TEST(MachineShare, WaitsUntilThereIsRoom) {
  auto scratch = ScratchFolder::create("stitchcuda-share");
  ASSERT_TRUE(scratch);
  const char* before = std::getenv("STITCHCUDA_CACHE");
  std::string kept = before ? before : "";
  ::setenv("STITCHCUDA_CACHE", scratch->path().c_str(), 1);
  {
    auto five = MachineShare::take("room", 5, 8), three = MachineShare::take("room", 3, 8);
    ASSERT_TRUE(five && three);
    EXPECT_EQ(five->parts(), 5u);
    EXPECT_EQ(three->parts(), 3u);
    EXPECT_TRUE(MachineShare::take("another room", 8, 8));
    std::optional<MachineShare> large(*std::move(five));
    std::atomic<bool> got = false;
    std::jthread other([&] { got = MachineShare::take("room", 8, 8)->parts() == 8; });
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_FALSE(got);
    large.reset();
    std::optional<MachineShare>(*std::move(three)).reset();
    other.join();
    EXPECT_TRUE(got);
  }
  before ? ::setenv("STITCHCUDA_CACHE", kept.c_str(), 1) : ::unsetenv("STITCHCUDA_CACHE");
}

}  // namespace stitch
