#include "gpu/gpu_spec.h"

#include <gtest/gtest.h>

#include <set>

namespace stitch {
namespace {

TEST(GpuSpec, EveryEntryIsWhole) {
  ASSERT_EQ(all_gpus().size(), 10u);
  for (const GpuSpec& gpu : all_gpus()) {
    SCOPED_TRACE(gpu.name);
    EXPECT_GT(gpu.sms, 50);
    EXPECT_GT(gpu.memory, 20e9);
    EXPECT_GT(gpu.bandwidth, 0.5e12);
    EXPECT_LE(gpu.bandwidth, gpu.data_sheet_bandwidth);
    EXPECT_GT(gpu.l2, 5e6);
    EXPECT_GT(gpu.tensor_fp16, gpu.tensor_tf32);
    EXPECT_GE(gpu.tensor_tf32, gpu.fp32);
    EXPECT_GT(gpu.fp32, gpu.fp64);
    EXPECT_DOUBLE_EQ(gpu.launch_overhead, 4e-6);
    EXPECT_DOUBLE_EQ(gpu.kernel_overhead, 1.5e-6);
    EXPECT_EQ(gpu.tensor_fp8 > gpu.tensor_fp16, gpu.architecture.mma_fp8());
    EXPECT_GE(gpu.shared_per_block, 99 * 1024);
    EXPECT_GT(gpu.shared_per_sm, gpu.shared_per_block);
    EXPECT_EQ(gpu.registers_per_sm, 65536);
    EXPECT_GE(gpu.threads_per_sm, 1536);
    EXPECT_LT(gpu.fp32_products, gpu.fp32);
    EXPECT_LT(gpu.tf32_products, gpu.tensor_tf32);
    EXPECT_LT(gpu.fp16_long_products, gpu.data_sheet_fp16);
    EXPECT_LT(gpu.fp16_convolutions, gpu.data_sheet_fp16);
    EXPECT_LT(gpu.tf32_convolutions, gpu.tensor_tf32);
  }
}

TEST(GpuSpec, EveryArchitectureHasOne) {
  std::set<std::string> here, supported;
  for (const GpuSpec& gpu : all_gpus()) here.insert(gpu.architecture.name);
  for (const Architecture& architecture : supported_architectures()) supported.insert(architecture.name);
  EXPECT_EQ(supported,
            (std::set<std::string>{"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_103", "sm_120"}));
  EXPECT_EQ(here, supported);
}

TEST(GpuSpec, InstructionsFollowFromTheCapability) {
  EXPECT_FALSE(architecture_of(86).mma_fp8());
  EXPECT_FALSE(architecture_of(89).clusters());
  EXPECT_TRUE(architecture_of(90).wgmma());
  EXPECT_FALSE(architecture_of(100).wgmma());
  EXPECT_TRUE(architecture_of(103).tcgen05());
  EXPECT_FALSE(architecture_of(120).tcgen05());
  EXPECT_EQ(find_gpu("RTX PRO 6000")->shared_per_block, 99 * 1024);
  EXPECT_EQ(find_gpu("A100")->shared_per_block, 163 * 1024);
  EXPECT_EQ(find_gpu("H200")->shared_per_block, 227 * 1024);
}

TEST(GpuSpec, AnUnknownCapabilityIsAsTheNearestBelow) {
  EXPECT_EQ(architecture_of(121).name, "sm_121");
  EXPECT_EQ(architecture_of(121).shared_per_block, 99 * 1024);
  EXPECT_EQ(architecture_of(87).name, "sm_87");
}

TEST(GpuSpec, NamesOfArchitecturesAreRead) {
  EXPECT_EQ(*parse_architecture("sm_90a"), 90);
  EXPECT_EQ(*parse_architecture("sm_120"), 120);
  EXPECT_EQ(*parse_compute_capability("10.3"), 103);
  for (const char* wrong : {"", "sm_", "90a", "sm_90ax", "sm_90 -o /etc/x", "compute_90", "sm_1000"})
    EXPECT_FALSE(parse_architecture(wrong)) << wrong;
  for (const char* wrong : {"", "9", "9.", "9.10", "x.y"})
    EXPECT_FALSE(parse_compute_capability(wrong)) << wrong;
}

TEST(GpuSpec, AProgramNeedsAnArchitecture) {
  EXPECT_TRUE(check_architecture("sm_80", "sm_80"));
  EXPECT_TRUE(check_architecture("sm_80", "sm_120"));
  EXPECT_TRUE(check_architecture("sm_90a", "sm_90a"));
  EXPECT_FALSE(check_architecture("sm_90a", "sm_100")) << "wgmma";
  EXPECT_EQ(check_architecture("sm_80", "sm_75").error().message,
            "the program needs sm_80, and this is sm_75");
}

TEST(GpuSpec, BlocksThatFitOnAMultiprocessor) {
  GpuSpec gpu = *find_gpu("RTX PRO 6000");
  EXPECT_EQ(gpu.blocks_per_sm(256, 0), 6) << "threads";
  EXPECT_EQ(gpu.blocks_per_sm(256, 48 * 1024), 2) << "shared memory";
  EXPECT_EQ(gpu.blocks_per_sm(32, 0), 32) << "blocks";
}

TEST(GpuSpec, FoundUnderEveryName) {
  for (const GpuSpec& gpu : all_gpus()) {
    EXPECT_EQ(find_gpu(gpu.name)->name, gpu.name);
    for (const std::string& alias : gpu.aliases) EXPECT_EQ(find_gpu(alias)->name, gpu.name);
  }
  // As drivers and people spell them.
  EXPECT_EQ(find_gpu("NVIDIA H200")->name, "H200");
  EXPECT_EQ(find_gpu("h200")->name, "H200");
  EXPECT_EQ(find_gpu("NVIDIA A100-SXM4-80GB")->name, "A100 80GB SXM");
  EXPECT_EQ(find_gpu("NVIDIA H100 80GB HBM3")->name, "H100 SXM");
  EXPECT_EQ(find_gpu("rtx4090")->name, "RTX 4090");
}

TEST(GpuSpec, MeasuredFiguresWin) {
  auto gpu = find_gpu("H200");
  ASSERT_TRUE(gpu);
  EXPECT_TRUE(gpu->measured());
  EXPECT_EQ(name(gpu->source), "measured");
  EXPECT_DOUBLE_EQ(gpu->bandwidth, 4.29e12);
  EXPECT_DOUBLE_EQ(gpu->data_sheet_bandwidth, 4.8e12);
  EXPECT_DOUBLE_EQ(gpu->tensor_fp16, 757e12);
  EXPECT_DOUBLE_EQ(gpu->data_sheet_fp16, 989.4e12);
  EXPECT_DOUBLE_EQ(gpu->fp32_products, 50e12);
  EXPECT_DOUBLE_EQ(gpu->tf32_products, 383e12);
  EXPECT_DOUBLE_EQ(gpu->fp16_long_products, 620e12);
  EXPECT_DOUBLE_EQ(gpu->fp16_convolutions, 600e12);
  EXPECT_DOUBLE_EQ(gpu->tf32_convolutions, 340e12);
  EXPECT_EQ(name(find_gpu("H100")->source), "data sheet");
}

TEST(GpuSpec, AMisspeltNameGetsTheNearest) {
  auto gpu = find_gpu("H20");
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().exit_code(), 2);
  EXPECT_EQ(gpu.error().message, "unknown GPU 'H20'");
  EXPECT_TRUE(gpu.error().fix.starts_with("did you mean H200? Known: H200, H100 SXM,")) << gpu.error().fix;
  auto nonsense = find_gpu("a toaster of some kind");
  EXPECT_TRUE(nonsense.error().fix.starts_with("one of: H200,")) << nonsense.error().fix;
}

}  // namespace
}  // namespace stitch
