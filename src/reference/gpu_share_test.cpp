#include "reference/gpu_share.h"

#include <gtest/gtest.h>

namespace stitch::verifier {

TEST(GpuShare, IsWhatTensorsNeed) {
  Signature signature;
  signature.inputs.push_back({.type = {DType::f32, {100}, {}}});
  signature.outputs.push_back({.type = {DType::f16, {10}, {}}});
  EXPECT_EQ(gpu_bytes_of(signature, 1000), 3.5e9 + 2 * 420 + 400 + 2 * 80 + 400 + 2000);
}

}  // namespace stitch::verifier
