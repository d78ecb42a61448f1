#include "gpu/gpu_detect.h"

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

TEST(GpuDetect, AGpuOutsideTheTableIsAsItsDriverSays) {
  auto driver = detect_gpus(STITCH_BINARY_DIR "/libfake_driver.so");
  ASSERT_TRUE(driver) << driver.error().text();
  EXPECT_EQ(driver->cuda_version, "13.0");
  ASSERT_EQ(driver->gpus.size(), 1u);
  const GpuSpec gpu = spec_of(driver->gpus[0]);
  EXPECT_EQ(gpu.name, "NVIDIA GeForce RTX 5090");
  EXPECT_EQ(name(gpu.source), "driver");
  EXPECT_EQ(gpu.architecture.name, "sm_120");
  EXPECT_EQ(gpu.sms, 170);
  EXPECT_EQ(gpu.shared_per_block, 99 * 1024);
  EXPECT_EQ(gpu.threads_per_sm, 1536);
  // Its data sheet: 1792 GB/s, 104.8 TFLOPS of fp32, 209.5 of fp16 with fp32 accumulation.
  EXPECT_NEAR(gpu.bandwidth, 1792e9, 1e9);
  EXPECT_NEAR(gpu.fp32, 104.8e12, 0.1e12);
  EXPECT_NEAR(gpu.tensor_fp16, 209.5e12, 0.1e12);
  EXPECT_NEAR(gpu.tensor_tf32, 104.8e12, 0.1e12);
  EXPECT_NEAR(gpu.fp64, 1.64e12, 0.01e12);
  EXPECT_GT(gpu.launch_overhead, 0);
  EXPECT_GT(gpu.fp32_products, 0);
}

TEST(GpuDetect, AGpuInTheTableIsAsTheTableSays) {
  DetectedGpu here;
  here.name = "NVIDIA H200";
  here.compute_capability = "9.0";
  EXPECT_TRUE(spec_of(here).measured());
}

TEST(GpuDetect, RatesByTheClockAreTheDataSheets) {
  struct {
    const char *like, *name;
    double clock;
  } rows[] = {{"A100", "GA100", 1.41e9}, {"A10", "GA102", 1.695e9},       {"RTX 3090", "GeForce", 1.695e9},
              {"L40S", "AD102", 2.52e9}, {"RTX 4090", "GeForce", 2.52e9}, {"RTX PRO 6000", "GB202", 2.617e9}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.like);
    const GpuSpec sheet = *find_gpu(row.like);
    DetectedGpu here;
    here.name = row.name;
    here.compute_capability = sheet.compute_capability;
    here.sms = sheet.sms;
    here.clock = row.clock;
    const GpuSpec gpu = spec_of(here);
    EXPECT_NEAR(gpu.fp32 / sheet.fp32, 1, 0.02);
    EXPECT_NEAR(gpu.fp64 / sheet.fp64, 1, 0.05);
    EXPECT_NEAR(gpu.tensor_fp16 / sheet.data_sheet_fp16, 1, 0.02);
    EXPECT_NEAR(gpu.tensor_tf32 / sheet.tensor_tf32, 1, 0.02);
  }
}

TEST(GpuDetect, ADriverThatHidesItsClocksIsFilledInFromTheTable) {
  DetectedGpu here;
  here.name = "NVIDIA L40S-12Q";
  here.compute_capability = "8.9";
  here.sms = 142;
  here.memory_bytes = 12'000'000'000;
  const GpuSpec gpu = spec_of(here);
  EXPECT_EQ(gpu.bandwidth, find_gpu("RTX 4090")->bandwidth) << "the fastest of its architecture";
  EXPECT_NEAR(gpu.fp32, find_gpu("L40S")->fp32, 0.1e12);
  EXPECT_EQ(gpu.memory, 12e9);
}

}  // namespace
}  // namespace stitch
