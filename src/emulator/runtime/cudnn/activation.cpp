// Activations and softmax.
#include <cmath>
#include <limits>

#include "cudnn/descriptors.h"

using namespace stitch_emulated;

namespace {

// x and y have the same shape and type, and both factors are given.
cudnnStatus_t check_pair(cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y,
                         const void* alpha, const void* beta) {
  if (!handle || !x || !y || !alpha || !beta) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (x->dims != y->dims) return refuse(CUDNN_STATUS_BAD_PARAM, "x and y differ in shape");
  if (x->type != y->type) return refuse(CUDNN_STATUS_BAD_PARAM, "x and y differ in type");
  return CUDNN_STATUS_SUCCESS;
}

void move_channels_last(View& view) {
  std::rotate(view.dims.begin() + 1, view.dims.begin() + 2, view.dims.end());
  std::rotate(view.steps.begin() + 1, view.steps.begin() + 2, view.steps.end());
}

// The softmax over `count` values, `step` apart.
void softmax(const View& x, int64_t x_offset, int64_t x_step, const View& y, int64_t y_offset, int64_t y_step,
             int64_t count, cudnnSoftmaxAlgorithm_t algorithm, double alpha, double beta) {
  std::vector<double> values(static_cast<size_t>(count));
  read(x.element, x.data, x_offset, x_step, count, values.data());
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double value : values) largest = std::fmax(largest, value);
  for (double value : values) sum += std::exp(value - largest);
  for (double& value : values)
    value =
        algorithm == CUDNN_SOFTMAX_LOG ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
  blend(y, y_offset, y_step, count, alpha, beta, values.data());
}

}  // namespace

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation) {
  *activation = new cudnnActivationStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation) {
  delete activation;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t nan, double coefficient) {
  if (!activation || mode < 0 || mode > CUDNN_ACTIVATION_SWISH)
    return refuse(CUDNN_STATUS_BAD_PARAM, "no such activation");
  *activation = {mode, nan == CUDNN_PROPAGATE_NAN, coefficient, 1};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetActivationDescriptor(cudnnActivationDescriptor_t activation,
                                           cudnnActivationMode_t* mode, cudnnNanPropagation_t* nan,
                                           double* coefficient) {
  if (!activation) return refuse(CUDNN_STATUS_BAD_PARAM, "the activation is null");
  *mode = activation->mode;
  *nan = activation->propagate_nan ? CUDNN_PROPAGATE_NAN : CUDNN_NOT_PROPAGATE_NAN;
  *coefficient = activation->coefficient;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activation, double beta) {
  if (!activation) return refuse(CUDNN_STATUS_BAD_PARAM, "the activation is null");
  activation->swish_beta = beta;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                     const void* alpha, cudnnTensorDescriptor_t x_desc, const void* x,
                                     const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  if (!activation) return refuse(CUDNN_STATUS_BAD_PARAM, "the activation is null");
  if (cudnnStatus_t status = check_pair(handle, x_desc, y_desc, alpha, beta)) return status;
  if (activation->mode == CUDNN_ACTIVATION_IDENTITY)
    return refuse(CUDNN_STATUS_BAD_PARAM, "identity is for convolutions with bias only");
  const View vx = view_of(*x_desc, x), vy = view_of(*y_desc, y);
  LibraryOperation call{"cudnnActivationForward" + sizes(vy.dims),
                        {{"x", vx.data, vx.bytes()}, {"y", vy.data, vy.bytes()}},
                        {}};
  call.work = [=, kind = *activation, fa = factor_of(vy.element, alpha), fb = factor_of(vy.element, beta)] {
    const Rows rows(vy);
    rows.for_each([&](int64_t row) {
      std::vector<double> line(static_cast<size_t>(rows.length()));
      read(vx.element, vx.data, rows.offset(vx, row), vx.steps.back(), rows.length(), line.data());
      for (double& value : line) value = activate(kind, value);
      blend(vy, rows.offset(vy, row), vy.steps.back(), rows.length(), fa, fb, line.data());
    });
  };
  return submit(handle, std::move(call));
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void* alpha, cudnnTensorDescriptor_t x_desc,
                                  const void* x, const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  if (cudnnStatus_t status = check_pair(handle, x_desc, y_desc, alpha, beta)) return status;
  if (algorithm > CUDNN_SOFTMAX_LOG || mode > CUDNN_SOFTMAX_MODE_CHANNEL)
    return refuse(CUDNN_STATUS_BAD_PARAM, "no such softmax");
  View vx = view_of(*x_desc, x), vy = view_of(*y_desc, y);
  LibraryOperation call{
      "cudnnSoftmaxForward" + sizes(vy.dims), {{"x", vx.data, vx.bytes()}, {"y", vy.data, vy.bytes()}}, {}};
  if (mode == CUDNN_SOFTMAX_MODE_INSTANCE) {
    // One softmax over a whole image, whose elements must be evenly spaced, in the same order in x and y.
    auto join = [](View& view) {
      int64_t elements = 1;
      for (size_t i = view.dims.size(); i-- > 1;) {
        if (view.dims[i] > 1 && view.steps[i] != elements * view.steps.back()) return false;
        elements *= view.dims[i];
      }
      view.dims = {view.dims[0], elements, 1};
      view.steps = {view.steps[0], view.steps.back(), 1};
      return true;
    };
    View jx = vx, jy = vy;
    if (!join(jx) || !join(jy)) {
      jx = vx, jy = vy;
      move_channels_last(jx);
      move_channels_last(jy);
      if (!join(jx) || !join(jy))
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "an instance's softmax wants whole images");
    }
    vx = jx, vy = jy;
  }
  // NHWC, so that a row is one softmax.
  move_channels_last(vx);
  move_channels_last(vy);
  call.work = [=, fa = factor_of(vy.element, alpha), fb = factor_of(vy.element, beta)] {
    const Rows rows(vy);
    rows.for_each([&](int64_t row) {
      softmax(vx, rows.offset(vx, row), vx.steps.back(), vy, rows.offset(vy, row), vy.steps.back(),
              rows.length(), algorithm, fa, fb);
    });
  };
  return submit(handle, std::move(call));
}
