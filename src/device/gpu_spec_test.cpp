#include "device/gpu_spec.h"

#include <gtest/gtest.h>

namespace stitch {
namespace {

TEST(GpuSpec, EveryEntryIsWhole) {
  ASSERT_EQ(all_gpus().size(), 6u);
  for (const GpuSpec& gpu : all_gpus()) {
    SCOPED_TRACE(gpu.name);
    EXPECT_GT(gpu.sms, 50);
    EXPECT_GT(gpu.memory, 20e9);
    EXPECT_GT(gpu.bandwidth, 0.5e12);
    EXPECT_LE(gpu.bandwidth, gpu.data_sheet_bandwidth);
    EXPECT_GT(gpu.l2, 10e6);
    EXPECT_GT(gpu.tensor_fp16, gpu.tensor_tf32);
    EXPECT_GE(gpu.tensor_tf32, gpu.fp32);
    EXPECT_GT(gpu.fp32, gpu.fp64);
    EXPECT_DOUBLE_EQ(gpu.launch_overhead, 4e-6);
  }
}

TEST(GpuSpec, FoundUnderEveryName) {
  for (const GpuSpec& gpu : all_gpus()) {
    EXPECT_EQ(find_gpu(gpu.name)->name, gpu.name);
    for (const std::string& alias : gpu.aliases) EXPECT_EQ(find_gpu(alias)->name, gpu.name);
  }
  // As the driver and people spell them.
  EXPECT_EQ(find_gpu("NVIDIA H200")->name, "H200");
  EXPECT_EQ(find_gpu("h200")->name, "H200");
  EXPECT_EQ(find_gpu("NVIDIA A100-SXM4-80GB")->name, "A100 80GB SXM");
  EXPECT_EQ(find_gpu("NVIDIA H100 80GB HBM3")->name, "H100 SXM");
  EXPECT_EQ(find_gpu("rtx4090")->name, "RTX 4090");
}

TEST(GpuSpec, MeasuredFiguresWin) {
  auto gpu = find_gpu("H200");
  ASSERT_TRUE(gpu);
  EXPECT_TRUE(gpu->measured);
  EXPECT_DOUBLE_EQ(gpu->bandwidth, 4.29e12);
  EXPECT_DOUBLE_EQ(gpu->data_sheet_bandwidth, 4.8e12);
  EXPECT_DOUBLE_EQ(gpu->tensor_fp16, 757e12);
}

TEST(GpuSpec, AMisspeltNameGetsTheNearest) {
  auto gpu = find_gpu("H20");
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().exit_code(), 2);
  EXPECT_EQ(gpu.error().message, "no GPU named 'H20' is known");
  EXPECT_TRUE(gpu.error().fix.starts_with("did you mean H200? Known: H200, H100 SXM,")) << gpu.error().fix;
  auto nonsense = find_gpu("a toaster of some kind");
  EXPECT_TRUE(nonsense.error().fix.starts_with("one of: H200,")) << nonsense.error().fix;
}

}  // namespace
}  // namespace stitch
