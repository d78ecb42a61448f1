// For tests of cuDNN: a handle, and tensors with their descriptors.
#pragma once

#include <cudnn.h>

#include <initializer_list>
#include <utility>

#include "emulator/test_numbers.h"

namespace stitch::emulated {

inline cudnnDataType_t cudnn_type(Type type) {
  constexpr cudnnDataType_t all[] = {CUDNN_DATA_DOUBLE, CUDNN_DATA_FLOAT, CUDNN_DATA_HALF,
                                     CUDNN_DATA_BFLOAT16};
  return all[static_cast<int>(type)];
}

struct Shape {
  std::vector<int> dims, steps;
  bool channels_last = false;
  Shape(std::vector<int> d, bool nhwc = false, int gap = 0) : dims(d), steps(d.size()), channels_last(nhwc) {
    int step = 1;
    if (nhwc) steps[1] = 1, step = dims[1] + gap;
    for (size_t i = dims.size(); i-- > 0;) {
      if (nhwc && i == 1) continue;
      steps[i] = step;
      step = step * dims[i] + (i + 1 == dims.size() && !nhwc ? gap : 0);
    }
  }
  size_t count() const {
    size_t last = 0;
    for (size_t i = 0; i < dims.size(); ++i) last += static_cast<size_t>(dims[i] - 1) * steps[i];
    return last + 1;
  }
  size_t elements() const {
    size_t out = 1;
    for (int dim : dims) out *= dim;
    return out;
  }
  // Of the index-th element, last dimension fastest.
  size_t place(size_t index) const {
    size_t out = 0;
    for (size_t i = dims.size(); i-- > 0; index /= dims[i]) out += index % dims[i] * steps[i];
    return out;
  }
  size_t at(std::initializer_list<int> index) const {
    size_t out = 0, i = 0;
    for (int each : index) out += static_cast<size_t>(each) * steps[i++];
    return out;
  }
};

class Tensor {
 public:
  Tensor(Type type, Shape shape, unsigned seed)
      : shape(std::move(shape)), numbers(Numbers::random(type, this->shape.count(), seed)) {
    cudnnCreateTensorDescriptor(&desc);
    EXPECT_EQ(cudnnSetTensorNdDescriptor(desc, cudnn_type(type), static_cast<int>(this->shape.dims.size()),
                                         this->shape.dims.data(), this->shape.steps.data()),
              CUDNN_STATUS_SUCCESS);
  }
  Tensor(const Tensor&) = delete;
  ~Tensor() { cudnnDestroyTensorDescriptor(desc); }
  double operator[](size_t index) { return numbers[shape.place(index)]; }
  double at(std::initializer_list<int> index) { return numbers[shape.at(index)]; }
  void* get() { return numbers.get(); }
  // All elements, last dimension fastest.
  std::vector<double> values() {
    std::vector<double> out(shape.elements());
    for (size_t i = 0; i < out.size(); ++i) out[i] = (*this)[i];
    return out;
  }

  Shape shape;
  Numbers numbers;
  cudnnTensorDescriptor_t desc = nullptr;
};

inline void expect_near(Tensor& got, const std::vector<double>& want, double slack) {
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got[i], want[i], slack * std::max(1.0, std::abs(want[i]))) << "at " << i;
}

class Cudnn : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    ASSERT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudnnSetStream(handle, stream), CUDNN_STATUS_SUCCESS);
  }
  void TearDown() override {
    OnDevice::TearDown();  // first: a failed device destroys nothing
    cudnnDestroy(handle);
    cudaStreamDestroy(stream);
  }
  void finish() { ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess); }
  cudnnHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const void* unit(Type type) const {
    return type == Type::f64 ? static_cast<const void*>(&wide_one) : static_cast<const void*>(&one);
  }
  const void* none(Type type) const {
    return type == Type::f64 ? static_cast<const void*>(&wide_zero) : static_cast<const void*>(&zero);
  }
};

}  // namespace stitch::emulated
