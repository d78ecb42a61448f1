#include "device/gpu_detect.h"

#include <gtest/gtest.h>

namespace stitch {
namespace {

TEST(GpuDetect, AGpuOrAReason) {
  auto driver = detect_gpus();
  if (!driver) {
    EXPECT_FALSE(driver.error().message.empty());
    GTEST_SKIP() << "no GPU here: " << driver.error().message;
  }
  for (const DetectedGpu& gpu : driver->gpus) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GT(gpu.memory_bytes, 1'000'000'000);
    EXPECT_GT(gpu.sms, 0);
    EXPECT_GE(gpu.compute_capability, "5.0");
  }
}

}  // namespace
}  // namespace stitch
