// graph "golden"
// input %x : f32[8,6,32,32]
// parameter %one_weight : f32[64,6,1,1]
// parameter %one_bias : f32[64]
// parameter %three_weight : f32[64,6,3,3]
// parameter %three_bias : f32[64]
// %one = conv(%x, %one_weight, %one_bias) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[8,64,32,32]
// %first = relu(%one) : f32[8,64,32,32]
// %three = conv(%x, %three_weight, %three_bias) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[8,64,32,32]
// %second = relu(%three) : f32[8,64,32,32]
// %y = concat(%first, %second) dim=1 : f32[8,128,32,32]
// output %y
// end

#include "stitch/kernels/conv_split_halo.h"

// y (8, 64, 32, 32) = x (8, 6, 32, 32) * one_weight (64, 6, 1, 1), then bias, relu
// x is read once into shared memory, on fp16 tensor cores in pairs of fp16; kernels/conv_split_halo.h has the
// kernel.
struct GoldenPart_0Product {  // y (8, 64, 32, 32) = x (8, 6, 32, 32) * one_weight (64, 6, 1, 1)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 64, depth = 6;
  static constexpr Index columns = 8192;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 6; }
  __device__ static Index right(Index, Index k, Index column) {
    const Index out_x = column % 32, out_y = column / 32 % 32;
    const Index y = out_y;
    const Index x = out_x;
    return y * 32 + x + column / 1024 * 6144 + k * 1024;
  }
  __device__ static Index out(Index, Index row, Index column) {
    return column % 1024 + (column / 1024) * 131072 + row * 1024;
  }
  __device__ static Index position(Index, Index row, Index column) {
    return column % 1024 + (column / 1024) * 65536 + row * 1024;
  }
};

struct GoldenPart_0Halo : stitch::FlatConvolution {
  static constexpr int samples = 8, channels = 6, filters = 64;
  static constexpr int size_in_y = 32, size_out_y = 32, kernel_y = 1;
  static constexpr int stride_y = 1, padding_y = 0, dilation_y = 1;
  static constexpr int size_in_x = 32, size_out_x = 32, kernel_x = 1;
  static constexpr int stride_x = 1, padding_x = 0, dilation_x = 1;
  static constexpr bool out_last = false;
  static constexpr int64_t x_stride_sample = 6144, x_stride_channel = 1024, x_offset = 0;
  static constexpr int64_t x_stride_y = 32, x_stride_x = 1;
  static constexpr int64_t out_stride_sample = 131072, out_stride_channel = 1024, out_offset = 0;
  static constexpr int64_t out_stride_y = 32, out_stride_x = 1;
};

struct GoldenPart_0Epilogue {
  const float* one_bias;  // (64)
  __device__ float operator()(float value, int position) const {
    value += one_bias[(position / 1024) % 64];
    return stitch::relu(value);
  }
};

StitchStatus pack_golden_part_0(const float* one_weight,  // (64, 6, 1, 1)
                                __half* packed,           // (2048): high and low parts
                                cudaStream_t stream) {
  return stitch::pack_split_halo<GoldenPart_0Product, GoldenPart_0Halo>(one_weight, packed, stream);
}

StitchStatus enqueue_golden_part_0(const float* x,                            // (8, 6, 32, 32)
                                   const float* one_bias,                     // (64)
                                   const __half* golden_part_0_weight_split,  // (2048): high and low parts
                                   float* y,                                  // (8, 64, 32, 32)
                                   cudaStream_t stream) {
  return stitch::enqueue_conv_split_halo<GoldenPart_0Product, true>(
      "golden_part_0", GoldenPart_0Halo{}, x, golden_part_0_weight_split, y, GoldenPart_0Epilogue{one_bias},
      stream);
}

// y (8, 64, 32, 32) = x (8, 6, 32, 32) * three_weight (64, 6, 3, 3), padding 1x1, then bias, relu
// x is read once into shared memory, on fp16 tensor cores in pairs of fp16; kernels/conv_split_halo.h has the
// kernel.
// y (8, 64, 32, 32) = x (8, 6, 32, 32) * three_weight (64, 6, 3, 3), padding 1x1
struct GoldenPart_1Product {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 64, depth = 54;
  static constexpr Index columns = 8192;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 54; }
  __device__ static Index right(Index, Index k, Index column) {
    const Index tap_x = k % 3, tap_y = k / 3 % 3;
    const Index out_x = column % 32, out_y = column / 32 % 32;
    const Index y = out_y + tap_y - 1;
    if (y < 0 || y >= 32) return -1;
    const Index x = out_x + tap_x - 1;
    if (x < 0 || x >= 32) return -1;
    return y * 32 + x + column / 1024 * 6144 + k / 9 * 1024;
  }
  __device__ static Index out(Index, Index row, Index column) {
    return column % 1024 + (column / 1024) * 131072 + row * 1024;
  }
  __device__ static Index position(Index, Index row, Index column) {
    return column % 1024 + (column / 1024) * 65536 + row * 1024;
  }
};

struct GoldenPart_1Halo : stitch::FlatConvolution {
  static constexpr int samples = 8, channels = 6, filters = 64;
  static constexpr int size_in_y = 32, size_out_y = 32, kernel_y = 3;
  static constexpr int stride_y = 1, padding_y = 1, dilation_y = 1;
  static constexpr int size_in_x = 32, size_out_x = 32, kernel_x = 3;
  static constexpr int stride_x = 1, padding_x = 1, dilation_x = 1;
  static constexpr bool out_last = false;
  static constexpr int64_t x_stride_sample = 6144, x_stride_channel = 1024, x_offset = 0;
  static constexpr int64_t x_stride_y = 32, x_stride_x = 1;
  static constexpr int64_t out_stride_sample = 131072, out_stride_channel = 1024, out_offset = 0;
  static constexpr int64_t out_stride_y = 32, out_stride_x = 1;
};

struct GoldenPart_1Epilogue {
  const float* three_bias;  // (64)
  __device__ float operator()(float value, int position) const {
    value += three_bias[(position / 1024) % 64];
    return stitch::relu(value);
  }
};

StitchStatus pack_golden_part_1(const float* three_weight,  // (64, 6, 3, 3)
                                __half* packed,             // (10240): high and low parts
                                cudaStream_t stream) {
  return stitch::pack_split_halo<GoldenPart_1Product, GoldenPart_1Halo>(three_weight, packed, stream);
}

StitchStatus enqueue_golden_part_1(const float* x,                            // (8, 6, 32, 32)
                                   const float* three_bias,                   // (64)
                                   const __half* golden_part_1_weight_split,  // (10240): high and low parts
                                   float* y,                                  // (8, 64, 32, 32)
                                   cudaStream_t stream) {
  return stitch::enqueue_conv_split_halo<GoldenPart_1Product, true>(
      "golden_part_1", GoldenPart_1Halo{}, x, golden_part_1_weight_split, y, GoldenPart_1Epilogue{three_bias},
      stream);
}

StitchStatus enqueue_golden(const float* x,                            // (8, 6, 32, 32)
                            const float* one_bias,                     // (64)
                            const float* three_bias,                   // (64)
                            const __half* golden_part_0_weight_split,  // (2048)
                            const __half* golden_part_1_weight_split,  // (10240)
                            float* y,                                  // (8, 128, 32, 32)
                            cudaStream_t stream) {
  STITCH_OK_OR_RETURN(
      enqueue_golden_part_0(x, one_bias, golden_part_0_weight_split, y, stream));
  STITCH_OK_OR_RETURN(
      enqueue_golden_part_1(x, three_bias, golden_part_1_weight_split, y + 65536, stream));
  return STITCH_OK;
}
