#include "verify/gpu_share.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/file.h"

namespace stitch::verifier {

TEST(GpuShare, WaitsUntilThereIsRoom) {
  auto scratch = ScratchFolder::create("stitchcuda-share");
  ASSERT_TRUE(scratch);
  const char* before = std::getenv("STITCHCUDA_CACHE");
  std::string kept = before ? before : "";
  ::setenv("STITCHCUDA_CACHE", scratch->path().c_str(), 1);
  {
    auto five = GpuShare::take(60, 100), three = GpuShare::take(30, 100);
    ASSERT_TRUE(five && three);
    EXPECT_EQ(five->parts(), 5u);
    EXPECT_EQ(three->parts(), 3u);
    std::optional<GpuShare> large(*std::move(five));
    std::atomic<bool> got = false;
    std::jthread other([&] { got = GpuShare::take(1000, 100)->parts() == 8; });
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_FALSE(got);
    large.reset();
    std::optional<GpuShare>(*std::move(three)).reset();
    other.join();
    EXPECT_TRUE(got);
  }
  before ? ::setenv("STITCHCUDA_CACHE", kept.c_str(), 1) : ::unsetenv("STITCHCUDA_CACHE");
}

TEST(GpuShare, IsWhatTensorsNeed) {
  Signature signature;
  signature.inputs.push_back({.type = {DType::f32, {100}, {}}});
  signature.outputs.push_back({.type = {DType::f16, {10}, {}}});
  EXPECT_EQ(gpu_bytes_of(signature), 2 * 420 + 2 * 80 + 800);
}

}  // namespace stitch::verifier
