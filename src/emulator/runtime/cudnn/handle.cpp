// cuDNN's handle, statuses, and common code.
#include <cmath>
#include <cstring>

#include "cudnn/descriptors.h"
#include "error.h"

using namespace stitch_emulated;

namespace {

struct Named {
  cudnnStatus_t code;
  const char* name;
};
constexpr Named statuses[] = {
    {CUDNN_STATUS_SUCCESS, "CUDNN_STATUS_SUCCESS"},
    {CUDNN_STATUS_NOT_INITIALIZED, "CUDNN_STATUS_NOT_INITIALIZED"},
    {CUDNN_STATUS_BAD_PARAM, "CUDNN_STATUS_BAD_PARAM"},
    {CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER"},
    {CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT"},
    {CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH"},
    {CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_STATUS_NOT_SUPPORTED"},
    {CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "CUDNN_STATUS_NOT_SUPPORTED_SHAPE"},
    {CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE"},
    {CUDNN_STATUS_INTERNAL_ERROR, "CUDNN_STATUS_INTERNAL_ERROR"},
    {CUDNN_STATUS_EXECUTION_FAILED, "CUDNN_STATUS_EXECUTION_FAILED"},
};
thread_local const char* last_reason = "";

}  // namespace

namespace stitch_emulated {

int64_t View::elements() const {
  int64_t out = 1;
  for (int64_t dim : dims) out *= dim;
  return out;
}
size_t View::bytes() const {
  if (!elements()) return 0;
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * steps[i];
  return static_cast<size_t>(last + 1) * bytes_of(element);
}
bool element_of(cudnnDataType_t type, Element& out) {
  switch (type) {
    case CUDNN_DATA_FLOAT: out = Element::f32; return true;
    case CUDNN_DATA_DOUBLE: out = Element::f64; return true;
    case CUDNN_DATA_HALF: out = Element::f16; return true;
    case CUDNN_DATA_BFLOAT16: out = Element::bf16; return true;
    case CUDNN_DATA_INT8: out = Element::i8; return true;
    case CUDNN_DATA_INT32: out = Element::i32; return true;
    default: return false;
  }
}
View view_of(const cudnnTensorStruct& tensor, const void* data) {
  View out;
  element_of(tensor.type, out.element);
  out.dims = tensor.dims;
  out.steps = tensor.steps;
  out.data = const_cast<void*>(data);
  return out;
}

int64_t Rows::count() const {
  int64_t out = 1;
  for (size_t i = 0; i + 1 < dims_.size(); ++i) out *= dims_[i];
  return out;
}
int64_t Rows::offset(const View& view, int64_t row) const {
  int64_t out = 0;
  for (size_t i = dims_.size() - 1; i-- > 0;) {
    if (view.dims[i] > 1) out += row % dims_[i] * view.steps[i];
    row /= dims_[i];
  }
  return out;
}

double factor_of(Element element, const void* value) {
  if (!value) return 0;
  return element == Element::f64 ? *static_cast<const double*>(value)
                                 : static_cast<double>(*static_cast<const float*>(value));
}
void blend(const View& to, int64_t offset, int64_t step, int64_t count, double alpha, double beta,
           double* values) {
  if (beta != 0) {
    std::vector<double> old(static_cast<size_t>(count));
    read(to.element, to.data, offset, step, count, old.data());
    for (int64_t i = 0; i < count; ++i) values[i] = alpha * values[i] + beta * old[static_cast<size_t>(i)];
  } else if (alpha != 1) {
    for (int64_t i = 0; i < count; ++i) values[i] *= alpha;
  }
  write(to.element, to.data, offset, step, count, values);
}

double activate(const cudnnActivationStruct& activation, double x) {
  switch (activation.mode) {
    case CUDNN_ACTIVATION_SIGMOID: return 1 / (1 + std::exp(-x));
    case CUDNN_ACTIVATION_RELU: return x > 0 || (x != x && activation.propagate_nan) ? x : 0;
    case CUDNN_ACTIVATION_TANH: return std::tanh(x);
    case CUDNN_ACTIVATION_CLIPPED_RELU:
      if (x != x) return activation.propagate_nan ? x : 0;
      return x < 0 ? 0 : x > activation.coefficient ? activation.coefficient : x;
    case CUDNN_ACTIVATION_ELU: return x >= 0 ? x : activation.coefficient * std::expm1(x);
    case CUDNN_ACTIVATION_SWISH: return x / (1 + std::exp(-activation.swish_beta * x));
    default: return x;
  }
}

Precision precision_of(cudnnMathType_t math) {
  switch (math) {
    case CUDNN_FMA_MATH: return Precision::full;
    case CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION: return Precision::half;
    default: return Precision::tf32;
  }
}

cudnnStatus_t refuse(cudnnStatus_t status, const char* why) {
  last_reason = why;
  return status;
}
cudnnStatus_t submit(cudnnHandle_t handle, LibraryOperation call) {
  return submit_call(handle->stream, std::move(call)) == cudaSuccess
             ? CUDNN_STATUS_SUCCESS
             : refuse(CUDNN_STATUS_EXECUTION_FAILED, "the stream or the device failed");
}

}  // namespace stitch_emulated

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetMaxDeviceVersion() { return 900; }
size_t cudnnGetCudartVersion() { return 13000; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  for (const Named& entry : statuses)
    if (entry.code == status) return entry.name;
  return "CUDNN_UNKNOWN_STATUS";
}
void cudnnGetLastErrorString(char* message, size_t bytes) {
  if (!message || !bytes) return;
  std::strncpy(message, last_reason, bytes - 1);
  message[bytes - 1] = 0;
  last_reason = "";
}
cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  if (!value) return refuse(CUDNN_STATUS_BAD_PARAM, "value is null");
  *value = type == MAJOR_VERSION ? CUDNN_MAJOR : type == MINOR_VERSION ? CUDNN_MINOR : CUDNN_PATCHLEVEL;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (!handle) return refuse(CUDNN_STATUS_BAD_PARAM, "handle is null");
  if (sticky_error()) return refuse(CUDNN_STATUS_NOT_INITIALIZED, "the device has failed");
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (!handle) return refuse(CUDNN_STATUS_BAD_PARAM, "handle is null");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (!handle || !stream) return refuse(CUDNN_STATUS_BAD_PARAM, "handle or stream is null");
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}
