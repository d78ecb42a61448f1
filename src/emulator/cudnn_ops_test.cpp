// cuDNN's small operations against their definitions.
#include "emulator/test_cudnn.h"

namespace stitch::emulated {
namespace {

using CudnnOps = Cudnn;

TEST_F(CudnnOps, DescriptorsTellWhatTheyHold) {
  cudnnTensorDescriptor_t desc;
  cudnnCreateTensorDescriptor(&desc);
  ASSERT_EQ(cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 3, 4, 5),
            CUDNN_STATUS_SUCCESS);
  cudnnDataType_t type;
  int v[8];
  ASSERT_EQ(cudnnGetTensor4dDescriptor(desc, &type, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ((std::vector<int>(v, v + 8)), (std::vector<int>{2, 3, 4, 5, 60, 1, 15, 3}));
  size_t bytes = 0;
  ASSERT_EQ(cudnnGetTensorSizeInBytes(desc, &bytes), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 240u);
  EXPECT_EQ(cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, -3, 4, 5) / 1000, 2);
  cudnnDestroyTensorDescriptor(desc);
}

double activated(cudnnActivationMode_t mode, double x, double coefficient) {
  switch (mode) {
    case CUDNN_ACTIVATION_SIGMOID: return 1 / (1 + std::exp(-x));
    case CUDNN_ACTIVATION_RELU: return std::max(0.0, x);
    case CUDNN_ACTIVATION_TANH: return std::tanh(x);
    case CUDNN_ACTIVATION_CLIPPED_RELU: return std::min(coefficient, std::max(0.0, x));
    case CUDNN_ACTIVATION_ELU: return x > 0 ? x : coefficient * (std::exp(x) - 1);
    default: return x / (1 + std::exp(-x));
  }
}
TEST_F(CudnnOps, Activations) {
  for (auto mode : {CUDNN_ACTIVATION_SIGMOID, CUDNN_ACTIVATION_RELU, CUDNN_ACTIVATION_TANH,
                    CUDNN_ACTIVATION_CLIPPED_RELU, CUDNN_ACTIVATION_ELU, CUDNN_ACTIVATION_SWISH})
    for (Type type : {Type::f32, Type::f16, Type::f64}) {
      Tensor x(type, Shape({2, 3, 5, 7}), 1), y(type, Shape({2, 3, 5, 7}), 2);
      cudnnActivationDescriptor_t activation;
      cudnnCreateActivationDescriptor(&activation);
      ASSERT_EQ(cudnnSetActivationDescriptor(activation, mode, CUDNN_NOT_PROPAGATE_NAN, 0.5),
                CUDNN_STATUS_SUCCESS);
      if (mode == CUDNN_ACTIVATION_SWISH) cudnnSetActivationDescriptorSwishBeta(activation, 1);
      ASSERT_EQ(cudnnActivationForward(handle, activation, unit(type), x.desc, x.get(), none(type), y.desc,
                                       y.get()),
                CUDNN_STATUS_SUCCESS)
          << mode;
      finish();
      std::vector<double> want = x.values();
      for (double& value : want) value = activated(mode, value, 0.5);
      expect_near(y, want, type == Type::f16 ? 1e-3 : 1e-5);
      cudnnDestroyActivationDescriptor(activation);
    }
}

TEST_F(CudnnOps, Softmax) {
  for (bool nhwc : {false, true})
    for (auto algorithm : {CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_LOG})
      for (auto mode : {CUDNN_SOFTMAX_MODE_INSTANCE, CUDNN_SOFTMAX_MODE_CHANNEL}) {
        const int n = 3, c = 11, h = 2, w = 4;
        Tensor x(Type::f32, Shape({n, c, h, w}, nhwc), 1), y(Type::f32, Shape({n, c, h, w}, nhwc), 2);
        std::vector<double> in = x.values(), want = in;
        auto group = [&](size_t i) {
          const size_t image = i / (c * h * w);
          return mode == CUDNN_SOFTMAX_MODE_INSTANCE ? image : image * h * w + i % (h * w);
        };
        std::vector<double> sums(n * h * w);
        for (size_t i = 0; i < in.size(); ++i) sums[group(i)] += std::exp(in[i]);
        for (size_t i = 0; i < in.size(); ++i)
          want[i] = algorithm == CUDNN_SOFTMAX_LOG ? in[i] - std::log(sums[group(i)])
                                                   : std::exp(in[i]) / sums[group(i)];
        ASSERT_EQ(cudnnSoftmaxForward(handle, algorithm, mode, &one, x.desc, x.get(), &zero, y.desc, y.get()),
                  CUDNN_STATUS_SUCCESS);
        finish();
        expect_near(y, want, 1e-5);
      }
}

struct Pooling {
  cudnnPoolingMode_t mode;
  std::vector<int> image, window, pad, stride;
  bool nhwc = false;
};
TEST_F(CudnnOps, PoolingForward) {
  std::vector<Pooling> all;
  for (auto mode : {CUDNN_POOLING_MAX, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
                    CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING, CUDNN_POOLING_MAX_DETERMINISTIC}) {
    all.push_back({mode, {8, 9}, {2, 3}, {0, 1}, {2, 2}});
    all.push_back({mode, {7, 7}, {3, 3}, {1, 1}, {2, 1}, true});
    all.push_back({mode, {5, 6, 7}, {2, 3, 3}, {0, 1, 1}, {2, 1, 2}});
  }
  for (const Pooling& p : all) {
    SCOPED_TRACE(static_cast<int>(p.mode) * 10 + static_cast<int>(p.image.size()));
    const int count = static_cast<int>(p.image.size());
    cudnnPoolingDescriptor_t desc;
    cudnnCreatePoolingDescriptor(&desc);
    ASSERT_EQ(cudnnSetPoolingNdDescriptor(desc, p.mode, CUDNN_PROPAGATE_NAN, count, p.window.data(),
                                          p.pad.data(), p.stride.data()),
              CUDNN_STATUS_SUCCESS);
    std::vector<int> in = {2, 4}, out(count + 2);
    in.insert(in.end(), p.image.begin(), p.image.end());
    Tensor x(Type::f32, Shape(in, p.nhwc), 1);
    ASSERT_EQ(cudnnGetPoolingNdForwardOutputDim(desc, x.desc, count + 2, out.data()), CUDNN_STATUS_SUCCESS);
    Tensor y(Type::f32, Shape(out, p.nhwc), 2);
    ASSERT_EQ(cudnnPoolingForward(handle, desc, &one, x.desc, x.get(), &zero, y.desc, y.get()),
              CUDNN_STATUS_SUCCESS);
    finish();
    const bool maximum = p.mode == CUDNN_POOLING_MAX || p.mode == CUDNN_POOLING_MAX_DETERMINISTIC;
    std::vector<double> xs = x.values(), want(y.shape.elements());
    const int taps = [&] {
      int t = 1;
      for (int size : p.window) t *= size;
      return t;
    }();
    for (size_t o = 0; o < want.size(); ++o) {
      double best = -1e30, sum = 0;
      int inside = 0;
      for (int tap = 0; tap < taps; ++tap) {
        size_t rest = o, index = 0, scale = 1;
        int left = tap;
        bool in_image = true;
        for (int d = count; d-- > 0;) {
          const int at = static_cast<int>(rest % out[d + 2]) * p.stride[d] - p.pad[d] + left % p.window[d];
          in_image = in_image && at >= 0 && at < p.image[d];
          index += static_cast<size_t>(at) * scale;
          scale *= p.image[d];
          rest /= out[d + 2];
          left /= p.window[d];
        }
        if (!in_image) continue;
        const double value = xs[rest * scale + index];
        best = std::max(best, value), sum += value, ++inside;
      }
      want[o] =
          maximum ? best : sum / (p.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? taps : inside);
    }
    expect_near(y, want, 1e-5);
    cudnnDestroyPoolingDescriptor(desc);
  }
}

TEST_F(CudnnOps, BatchNormalisation) {
  for (auto mode : {CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_PER_ACTIVATION})
    for (bool training : {true, false})
      for (Type type : {Type::f32, Type::f16}) {
        const int n = 5, c = 3, h = 4, w = 2;
        const double epsilon = 1e-3, factor = 0.25;
        Tensor x(type, Shape({n, c, h, w}), 1), y(type, Shape({n, c, h, w}), 2);
        cudnnTensorDescriptor_t derived;
        cudnnCreateTensorDescriptor(&derived);
        ASSERT_EQ(cudnnDeriveBNTensorDescriptor(derived, x.desc, mode), CUDNN_STATUS_SUCCESS);
        const size_t groups = mode == CUDNN_BATCHNORM_SPATIAL ? c : c * h * w;
        Numbers scale = Numbers::random(Type::f32, groups, 3), bias = Numbers::random(Type::f32, groups, 4);
        Numbers mean = Numbers::random(Type::f32, groups, 5), variance(Type::f32, groups),
                saved(Type::f32, groups), inverse(Type::f32, groups);
        for (size_t i = 0; i < groups; ++i) variance.set(i, 0.5 + 0.01 * static_cast<double>(i));
        auto group = [&](size_t i) {
          return mode == CUDNN_BATCHNORM_SPATIAL ? i / (h * w) % c : i % (c * h * w);
        };
        std::vector<double> xs = x.values(), m(groups), v(groups), want(xs.size()), running(groups);
        const double count = static_cast<double>(xs.size()) / static_cast<double>(groups);
        if (training) {
          for (size_t i = 0; i < xs.size(); ++i) m[group(i)] += xs[i] / count;
          for (size_t i = 0; i < xs.size(); ++i)
            v[group(i)] += (xs[i] - m[group(i)]) * (xs[i] - m[group(i)]) / count;
          for (size_t g = 0; g < groups; ++g)
            running[g] = 0.75 * variance[g] + 0.25 * v[g] * count / (count - 1);
          ASSERT_EQ(cudnnBatchNormalizationForwardTraining(
                        handle, mode, &one, &zero, x.desc, x.get(), y.desc, y.get(), derived, scale.get(),
                        bias.get(), factor, mean.get(), variance.get(), epsilon, saved.get(), inverse.get()),
                    CUDNN_STATUS_SUCCESS);
        } else {
          for (size_t g = 0; g < groups; ++g) m[g] = mean[g], v[g] = variance[g];
          ASSERT_EQ(cudnnBatchNormalizationForwardInference(handle, mode, &one, &zero, x.desc, x.get(),
                                                            y.desc, y.get(), derived, scale.get(), bias.get(),
                                                            mean.get(), variance.get(), epsilon),
                    CUDNN_STATUS_SUCCESS);
        }
        finish();
        for (size_t i = 0; i < xs.size(); ++i)
          want[i] =
              scale[group(i)] * (xs[i] - m[group(i)]) / std::sqrt(v[group(i)] + epsilon) + bias[group(i)];
        expect_near(y, want, type == Type::f16 ? 3e-3 : 1e-5);
        for (size_t g = 0; training && g < groups; ++g) {
          EXPECT_NEAR(variance[g], running[g], 1e-5);
          EXPECT_NEAR(saved[g], m[g], 1e-5);
          EXPECT_NEAR(inverse[g], 1 / std::sqrt(v[g] + epsilon), 1e-4);
        }
        cudnnDestroyTensorDescriptor(derived);
      }
}

TEST_F(CudnnOps, AddOpAndReduce) {
  Tensor a(Type::f32, Shape({1, 4, 1, 1}), 1), b(Type::f32, Shape({2, 4, 3, 5}), 2),
      c(Type::f32, Shape({2, 4, 3, 5}), 3);
  std::vector<double> want = c.values();
  for (size_t i = 0; i < want.size(); ++i) want[i] = 2 * a[i / 15 % 4] + want[i];
  const float two = 2;
  ASSERT_EQ(cudnnAddTensor(handle, &two, a.desc, a.get(), &one, c.desc, c.get()), CUDNN_STATUS_SUCCESS);
  finish();
  expect_near(c, want, 1e-6);
  cudnnOpTensorDescriptor_t op;
  cudnnCreateOpTensorDescriptor(&op);
  for (auto kind : {CUDNN_OP_TENSOR_ADD, CUDNN_OP_TENSOR_MUL, CUDNN_OP_TENSOR_MIN, CUDNN_OP_TENSOR_MAX}) {
    cudnnSetOpTensorDescriptor(op, kind, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN);
    ASSERT_EQ(cudnnOpTensor(handle, op, &two, b.desc, b.get(), &one, a.desc, a.get(), &zero, c.desc, c.get()),
              CUDNN_STATUS_SUCCESS);
    finish();
    for (size_t i = 0; i < want.size(); ++i) {
      const double l = 2 * b[i], r = a[i / 15 % 4];
      want[i] = kind == CUDNN_OP_TENSOR_ADD   ? l + r
                : kind == CUDNN_OP_TENSOR_MUL ? l * r
                : kind == CUDNN_OP_TENSOR_MIN ? std::min(l, r)
                                              : std::max(l, r);
    }
    expect_near(c, want, 1e-6);
  }
  cudnnDestroyOpTensorDescriptor(op);
  cudnnReduceTensorDescriptor_t reduce;
  cudnnCreateReduceTensorDescriptor(&reduce);
  Tensor small(Type::f32, Shape({1, 4, 1, 5}), 7);
  for (auto kind : {CUDNN_REDUCE_TENSOR_ADD, CUDNN_REDUCE_TENSOR_MAX, CUDNN_REDUCE_TENSOR_AVG,
                    CUDNN_REDUCE_TENSOR_NORM1, CUDNN_REDUCE_TENSOR_NORM2}) {
    cudnnSetReduceTensorDescriptor(reduce, kind, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN,
                                   CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES);
    size_t bytes = 0;
    ASSERT_EQ(cudnnGetReductionWorkspaceSize(handle, reduce, b.desc, small.desc, &bytes),
              CUDNN_STATUS_SUCCESS);
    Buffer<char> workspace(bytes + 1);
    ASSERT_EQ(cudnnReduceTensor(handle, reduce, nullptr, 0, workspace.get(), bytes, &one, b.desc, b.get(),
                                &zero, small.desc, small.get()),
              CUDNN_STATUS_SUCCESS);
    finish();
    std::vector<double> out(20, kind == CUDNN_REDUCE_TENSOR_MAX ? -10 : 0);
    for (size_t i = 0; i < want.size(); ++i) {
      double& to = out[i / 15 % 4 * 5 + i % 5];
      const double x = b[i];
      to = kind == CUDNN_REDUCE_TENSOR_MAX     ? std::max(to, x)
           : kind == CUDNN_REDUCE_TENSOR_NORM1 ? to + std::abs(x)
           : kind == CUDNN_REDUCE_TENSOR_NORM2 ? to + x * x
                                               : to + x;
    }
    for (double& to : out)
      to = kind == CUDNN_REDUCE_TENSOR_AVG ? to / 6 : kind == CUDNN_REDUCE_TENSOR_NORM2 ? std::sqrt(to) : to;
    expect_near(small, out, 1e-5);
  }
  cudnnDestroyReduceTensorDescriptor(reduce);
}

}  // namespace
}  // namespace stitch::emulated
