// The z axis of convolutions over fewer than three dimensions, for the structs that describe them.
#pragma once

#include <cstdint>

namespace stitch {
struct FlatConvolution {
  static constexpr bool flat = true;
  static constexpr int size_in_z = 1, size_out_z = 1, result_z = 1, weights_z = 1;
  static constexpr int kernel_z = 1, stride_z = 1, padding_z = 0, dilation_z = 1;
  static constexpr int phases_z = 1, before_z = 0;
  static constexpr int64_t x_stride_z = 0, out_stride_z = 0, weight_stride_z = 0;
};

}  // namespace stitch
