// The contents of cuDNN's descriptors, and error reporting.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cudnn.h"
#include "cudnn/descriptors.h"
#include "library/call.h"
#include "library/numbers.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> dims, steps;
};
struct cudnnFilterStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::vector<int64_t> dims;  // K, C per group, then the taps
};
struct cudnnConvolutionStruct {
  std::vector<int64_t> pad, stride, dilation;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int groups = 1;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  bool propagate_nan = false;
  std::vector<int64_t> window, pad, stride;
};
struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  bool propagate_nan = false;
  double coefficient = 0, swish_beta = 1;
};
struct cudnnOpTensorStruct {
  cudnnOpTensorOp_t kind = CUDNN_OP_TENSOR_ADD;
};
struct cudnnReduceTensorStruct {
  cudnnReduceTensorOp_t kind = CUDNN_REDUCE_TENSOR_ADD;
};
struct cudnnDropoutStruct {
  float probability = 0;
};

namespace stitch_emulated {

// A tensor with its address.
struct View {
  Element element = Element::f32;
  std::vector<int64_t> dims, steps;
  void* data = nullptr;

  int64_t elements() const;
  size_t bytes() const;  // from the first element to the last
};
bool element_of(cudnnDataType_t type, Element& out);
// The type must be valid.
View view_of(const cudnnTensorStruct& tensor, const void* data);

// Iterates over all indices but the last. Dimensions of size 1 are broadcast.
class Rows {
 public:
  explicit Rows(const View& shape) : dims_(shape.dims) {}
  int64_t count() const;
  int64_t length() const { return dims_.back(); }
  int64_t offset(const View& view, int64_t row) const;
  static int64_t step(const View& view) { return view.dims.back() == 1 ? 0 : view.steps.back(); }
  // On the device's threads.
  template <class F>
  void for_each(F&& body) const {
    constexpr int64_t chunk = 64;
    for_each_part(static_cast<size_t>((count() + chunk - 1) / chunk), [&](size_t part) {
      const int64_t first = static_cast<int64_t>(part) * chunk;
      for (int64_t row = first; row < std::min(count(), first + chunk); ++row) body(row);
    });
  }

 private:
  std::vector<int64_t> dims_;
};

// alpha and beta: double for double tensors, float for all others. Null is 0 for beta.
double factor_of(Element element, const void* value);
// to[i] = alpha * values[i] + beta * to[i], along one row.
void blend(const View& to, int64_t offset, int64_t step, int64_t count, double alpha, double beta,
           double* values);

double activate(const cudnnActivationStruct& activation, double x);

Precision precision_of(cudnnMathType_t math);

// Stores the reason for cudnnGetLastErrorString.
cudnnStatus_t refuse(cudnnStatus_t status, const char* why);
cudnnStatus_t submit(cudnnHandle_t handle, LibraryOperation call);

inline std::string sizes(const std::vector<int64_t>& dims) {
  std::string out;
  for (int64_t dim : dims) out += (out.empty() ? " " : "x") + std::to_string(dim);
  return out;
}

}  // namespace stitch_emulated

// One convolution, forward or backward data, by im2col and a matrix product.
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
