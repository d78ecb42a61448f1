// One convolution, forward or backward data, by im2col and a matrix product.
#pragma once

#include "cudnn/descriptors.h"

namespace stitch_emulated {

struct Convolution {
  View source, target;  // (N, C, D, H, W); forward: x to y, otherwise: dy to dx
  Element filter_element = Element::f32;
  const void* filter = nullptr;
  int64_t filter_steps[5];  // of K, C of a group, and the taps
  int64_t kernel[3], pad[3], stride[3], dilation[3];
  int64_t groups = 1;
  bool backward = false;
  bool flipped = false;  // CUDNN_CONVOLUTION flips the taps
  Precision precision = Precision::full;
  // target = activation(alpha * convolution + beta * other + bias)
  double alpha = 1, beta = 0;
  View other;
  const void* bias = nullptr;
  Element bias_element = Element::f32;
  cudnnActivationStruct activation;
};

void convolve(const Convolution& convolution);

}  // namespace stitch_emulated
