// Batch normalisation, spatial or per activation.
#include <cmath>

#include "cudnn/descriptors.h"

using namespace stitch_emulated;

namespace {

struct BatchNorm {
  View x, y;
  View parameters;  // shape of scale, bias and statistics
  const void *scale, *bias, *mean = nullptr, *variance = nullptr;
  void *running_mean = nullptr, *running_variance = nullptr, *saved_mean = nullptr, *saved_inverse = nullptr;
  double alpha, beta, epsilon, average_factor = 0;
  bool training;
};

double get(const BatchNorm& n, const void* from, int64_t at) {
  double value = 0;
  read(n.parameters.element, from, at, 1, 1, &value);
  return value;
}
void put(const BatchNorm& n, void* to, int64_t at, double value) {
  if (to) write(n.parameters.element, to, at, 1, 1, &value);
}

// Offsets of all elements that share one scale, in x and y.
template <class F>
void for_each_member(const BatchNorm& n, int64_t group, F&& body) {
  const std::vector<int64_t>& dims = n.x.dims;
  std::vector<int64_t> fixed(dims.size(), -1);
  int64_t rest = group;
  for (size_t i = dims.size(); i-- > 1;) {
    const int64_t size = n.parameters.dims[i];
    if (i == 1 || size > 1) fixed[i] = rest % size;
    rest /= size;
  }
  int64_t members = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (fixed[i] < 0) members *= dims[i];
  for (int64_t member = 0; member < members; ++member) {
    int64_t left = member, in = 0, out = 0;
    for (size_t i = dims.size(); i-- > 0;) {
      int64_t at = fixed[i];
      if (at < 0) {
        at = left % dims[i];
        left /= dims[i];
      }
      in += at * n.x.steps[i];
      out += at * n.y.steps[i];
    }
    body(in, out, members);
  }
}

void run(const BatchNorm& n) {
  const int64_t groups = n.parameters.elements();
  for_each_part(static_cast<size_t>(groups), [&](size_t part) {
    const auto group = static_cast<int64_t>(part);
    auto load = [&](int64_t at) {
      double value = 0;
      read(n.x.element, n.x.data, at, 1, 1, &value);
      return value;
    };
    double mean = 0, variance = 0;
    if (n.training) {
      double count = 0;
      for_each_member(n, group, [&](int64_t in, int64_t, int64_t members) {
        mean += load(in);
        count = static_cast<double>(members);
      });
      mean /= count;
      for_each_member(n, group, [&](int64_t in, int64_t, int64_t) {
        const double off = load(in) - mean;
        variance += off * off;
      });
      variance /= count;
      const double f = n.average_factor;
      // With factor 1 the running statistic is not read.
      auto average = [&](void* to, double value) {
        if (to) put(n, to, group, f == 1 ? value : (1 - f) * get(n, to, group) + f * value);
      };
      average(n.running_mean, mean);
      average(n.running_variance, count > 1 ? variance * count / (count - 1) : variance);
      put(n, n.saved_mean, group, mean);
      put(n, n.saved_inverse, group, 1 / std::sqrt(variance + n.epsilon));
    } else {
      mean = get(n, n.mean, group);
      variance = get(n, n.variance, group);
    }
    const double factor = get(n, n.scale, group) / std::sqrt(variance + n.epsilon);
    const double bias = get(n, n.bias, group);
    for_each_member(n, group, [&](int64_t in, int64_t out, int64_t) {
      double value = (load(in) - mean) * factor + bias;
      blend(n.y, out, 1, 1, n.alpha, n.beta, &value);
    });
  });
}

cudnnStatus_t check(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,
                    cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y, cudnnTensorDescriptor_t parameters,
                    const void* scale, const void* bias, double epsilon) {
  if (!handle || !alpha || !beta || !x || !y || !parameters || !scale || !bias)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (x->dims.size() < 4 || x->dims.size() > 5)
    return refuse(CUDNN_STATUS_BAD_PARAM, "batch normalisation takes 4-d and 5-d tensors");
  if (x->dims != y->dims || x->type != y->type)
    return refuse(CUDNN_STATUS_BAD_PARAM, "x and y differ in shape or type");
  if (epsilon < CUDNN_BN_MIN_EPSILON) return refuse(CUDNN_STATUS_BAD_PARAM, "epsilon is too small");
  cudnnTensorStruct expected;
  if (cudnnStatus_t status = cudnnDeriveBNTensorDescriptor(&expected, x, mode)) return status;
  if (expected.dims != parameters->dims || expected.type != parameters->type)
    return refuse(CUDNN_STATUS_BAD_PARAM, "the parameters have not the derived shape and type");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t enqueue(cudnnHandle_t handle, const char* name, BatchNorm n) {
  LibraryOperation call;
  call.name = name + sizes(n.x.dims);
  const size_t bytes = n.parameters.bytes();
  call.operands = {{"x", n.x.data, n.x.bytes()},
                   {"y", n.y.data, n.y.bytes()},
                   {"scale", n.scale, bytes},
                   {"bias", n.bias, bytes}};
  if (!n.training)
    call.operands.insert(call.operands.end(), {{"mean", n.mean, bytes}, {"variance", n.variance, bytes}});
  const std::pair<const char*, void*> written[] = {{"running mean", n.running_mean},
                                                   {"running variance", n.running_variance},
                                                   {"saved mean", n.saved_mean},
                                                   {"saved inverse variance", n.saved_inverse}};
  for (const auto& [operand, data] : written)
    if (data) call.operands.push_back({operand, data, bytes});
  call.work = [n = std::move(n)] { run(n); };
  return submit(handle, std::move(call));
}

}  // namespace

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived, cudnnTensorDescriptor_t x,
                                            cudnnBatchNormMode_t mode) {
  if (!derived || !x || x->dims.size() < 2) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  std::vector<int> dims(x->dims.size(), 1);
  for (size_t i = 1; i < dims.size(); ++i)
    if (i == 1 || mode == CUDNN_BATCHNORM_PER_ACTIVATION) dims[i] = static_cast<int>(x->dims[i]);
  const cudnnDataType_t type = x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  return cudnnSetTensorNdDescriptorEx(derived, CUDNN_TENSOR_NCHW, type, static_cast<int>(dims.size()),
                                      dims.data());
}
cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                      const void* alpha, const void* beta,
                                                      cudnnTensorDescriptor_t x_desc, const void* x,
                                                      cudnnTensorDescriptor_t y_desc, void* y,
                                                      cudnnTensorDescriptor_t parameters, const void* scale,
                                                      const void* bias, const void* mean,
                                                      const void* variance, double epsilon) {
  if (cudnnStatus_t status =
          check(handle, mode, alpha, beta, x_desc, y_desc, parameters, scale, bias, epsilon))
    return status;
  BatchNorm n{};
  n.x = view_of(*x_desc, x), n.y = view_of(*y_desc, y), n.parameters = view_of(*parameters, nullptr);
  n.scale = scale, n.bias = bias, n.mean = mean, n.variance = variance;
  n.alpha = factor_of(n.y.element, alpha), n.beta = factor_of(n.y.element, beta), n.epsilon = epsilon;
  return enqueue(handle, "cudnnBatchNormalizationForwardInference", std::move(n));
}
cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,
    cudnnTensorDescriptor_t x_desc, const void* x, cudnnTensorDescriptor_t y_desc, void* y,
    cudnnTensorDescriptor_t parameters, const void* scale, const void* bias, double average_factor,
    void* running_mean, void* running_variance, double epsilon, void* saved_mean,
    void* saved_inverse_variance) {
  if (cudnnStatus_t status =
          check(handle, mode, alpha, beta, x_desc, y_desc, parameters, scale, bias, epsilon))
    return status;
  if (!running_mean != !running_variance || !saved_mean != !saved_inverse_variance)
    return refuse(CUDNN_STATUS_BAD_PARAM, "mean and variance come together or not at all");
  BatchNorm n{};
  n.x = view_of(*x_desc, x), n.y = view_of(*y_desc, y), n.parameters = view_of(*parameters, nullptr);
  n.scale = scale, n.bias = bias, n.running_mean = running_mean, n.running_variance = running_variance;
  n.saved_mean = saved_mean, n.saved_inverse = saved_inverse_variance;
  n.alpha = factor_of(n.y.element, alpha), n.beta = factor_of(n.y.element, beta);
  n.epsilon = epsilon, n.average_factor = average_factor, n.training = true;
  return enqueue(handle, "cudnnBatchNormalizationForwardTraining", std::move(n));
}

namespace {
cudnnStatus_t alone(cudnnBatchNormOps_t ops, const void* z) {
  if (ops == CUDNN_BATCHNORM_OPS_BN && !z) return CUDNN_STATUS_SUCCESS;
  return refuse(CUDNN_STATUS_NOT_SUPPORTED,
                "nothing is added or activated behind a batch normalisation here");
}
}  // namespace

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t ops, cudnnTensorDescriptor_t x_desc,
    cudnnTensorDescriptor_t, cudnnTensorDescriptor_t y_desc, cudnnTensorDescriptor_t parameters,
    cudnnActivationDescriptor_t, size_t* bytes) {
  if (!handle || !x_desc || !y_desc || !parameters || !bytes)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  *bytes = 0;
  return alone(ops, nullptr);
}
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t handle, cudnnBatchNormMode_t,
                                                                   cudnnBatchNormOps_t ops,
                                                                   cudnnActivationDescriptor_t,
                                                                   cudnnTensorDescriptor_t x_desc,
                                                                   size_t* bytes) {
  if (!handle || !x_desc || !bytes) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  *bytes = 0;
  return alone(ops, nullptr);
}
cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void* alpha,
    const void* beta, cudnnTensorDescriptor_t x_desc, const void* x, cudnnTensorDescriptor_t, const void* z,
    cudnnTensorDescriptor_t y_desc, void* y, cudnnTensorDescriptor_t parameters, const void* scale,
    const void* bias, double average_factor, void* running_mean, void* running_variance, double epsilon,
    void* saved_mean, void* saved_inverse_variance, cudnnActivationDescriptor_t, void*, size_t, void*,
    size_t) {
  if (cudnnStatus_t status = alone(ops, z)) return status;
  return cudnnBatchNormalizationForwardTraining(handle, mode, alpha, beta, x_desc, x, y_desc, y, parameters,
                                                scale, bias, average_factor, running_mean, running_variance,
                                                epsilon, saved_mean, saved_inverse_variance);
}
