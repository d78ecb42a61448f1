// Convolutions against the definition in double.
#include "emulator/test_cudnn.h"

namespace stitch::emulated {
namespace {

struct Case {
  int n = 2, c = 4, k = 6, groups = 1;
  std::vector<int> image = {7, 9}, kernel = {3, 3}, pad = {1, 1}, stride = {1, 1}, dilation = {1, 1};
  Type type = Type::f32;
  bool channels_last = false;
  cudnnMathType_t math = CUDNN_FMA_MATH;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
};

class Problem {
 public:
  explicit Problem(const Case& c)
      : it(c),
        x(c.type, Shape(dims(c.n, c.c, c.image), c.channels_last), 1),
        y(c.type, Shape(dims(c.n, c.k, out(c)), c.channels_last), 2),
        w(c.type, Shape(dims(c.k, c.c / c.groups, c.kernel), c.channels_last), 3),
        bias(c.type, Shape(dims(1, c.k, std::vector<int>(c.image.size(), 1))), 4) {
    const int count = static_cast<int>(c.image.size());
    cudnnCreateFilterDescriptor(&filter);
    EXPECT_EQ(cudnnSetFilterNdDescriptor(filter, cudnn_type(c.type),
                                         c.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, count + 2,
                                         w.shape.dims.data()),
              CUDNN_STATUS_SUCCESS);
    cudnnCreateConvolutionDescriptor(&convolution);
    EXPECT_EQ(
        cudnnSetConvolutionNdDescriptor(convolution, count, c.pad.data(), c.stride.data(), c.dilation.data(),
                                        c.mode, c.type == Type::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
        CUDNN_STATUS_SUCCESS);
    cudnnSetConvolutionMathType(convolution, c.math);
    cudnnSetConvolutionGroupCount(convolution, c.groups);
  }
  ~Problem() {
    cudnnDestroyFilterDescriptor(filter);
    cudnnDestroyConvolutionDescriptor(convolution);
  }
  // Calls f(index in x, index in y, index in w) for every product of the convolution, images padded to three
  // dimensions.
  template <class F>
  void for_each_product(F&& f) {
    const auto a = three(it.image, 1), b = three(out(it), 1), s = three(it.kernel, 1), p = three(it.pad, 0),
               st = three(it.stride, 1), di = three(it.dilation, 1);
    const int cg = it.c / it.groups, kg = it.k / it.groups, taps = s[0] * s[1] * s[2];
    for (int n = 0; n < it.n; ++n)
      for (int k = 0; k < it.k; ++k)
        for (int pixel = 0; pixel < b[0] * b[1] * b[2]; ++pixel)
          for (int c = 0; c < cg; ++c)
            for (int tap = 0; tap < taps; ++tap) {
              const int o[3] = {pixel / (b[1] * b[2]), pixel / b[2] % b[1], pixel % b[2]};
              const int t[3] = {tap / (s[1] * s[2]), tap / s[2] % s[1], tap % s[2]};
              int at[3];
              bool inside = true;
              for (int d = 0; d < 3; ++d) {
                at[d] = o[d] * st[d] - p[d] + t[d] * di[d];
                inside = inside && at[d] >= 0 && at[d] < a[d];
              }
              if (!inside) continue;
              const int real = it.mode == CUDNN_CONVOLUTION ? taps - 1 - tap : tap;
              f(((n * it.c + k / kg * cg + c) * a[0] + at[0]) * a[1] * a[2] + at[1] * a[2] + at[2],
                (n * it.k + k) * b[0] * b[1] * b[2] + pixel, (k * cg + c) * taps + real);
            }
  }
  std::vector<double> forward() {
    std::vector<double> want(y.shape.elements()), xs = x.values(), ws = w.values();
    for_each_product([&](int i, int o, int f) { want[o] += xs[i] * ws[f]; });
    return want;
  }
  std::vector<double> backward() {
    std::vector<double> want(x.shape.elements()), ys = y.values(), ws = w.values();
    for_each_product([&](int i, int o, int f) { want[i] += ys[o] * ws[f]; });
    return want;
  }
  double slack() const {
    return it.type == Type::f64                                ? 1e-13
           : it.math == CUDNN_FMA_MATH && it.type == Type::f32 ? 1e-4
                                                               : 4 * std::max(2e-3, spacing(it.type));
  }

  Case it;
  Tensor x, y, w, bias;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;

 private:
  static std::vector<int> dims(int first, int second, std::vector<int> rest) {
    rest.insert(rest.begin(), {first, second});
    return rest;
  }
  static std::vector<int> out(const Case& c) {
    std::vector<int> sizes;
    for (size_t i = 0; i < c.image.size(); ++i)
      sizes.push_back(1 + (c.image[i] + 2 * c.pad[i] - c.dilation[i] * (c.kernel[i] - 1) - 1) / c.stride[i]);
    return sizes;
  }
  static std::vector<int> three(std::vector<int> v, int first) {
    if (v.size() == 2) v.insert(v.begin(), first);
    return v;
  }
};

class Convolutions : public Cudnn {
 protected:
  void forward(const Case& c, bool captured = false) {
    Problem p(c);
    const std::vector<double> want = p.forward();
    size_t bytes = 0;
    ASSERT_EQ(cudnnGetConvolutionForwardWorkspaceSize(handle, p.x.desc, p.filter, p.convolution, p.y.desc,
                                                      c.algorithm, &bytes),
              CUDNN_STATUS_SUCCESS);
    Buffer<char> workspace(bytes + 1);
    auto call = [&] {
      ASSERT_EQ(cudnnConvolutionForward(handle, unit(c.type), p.x.desc, p.x.get(), p.filter, p.w.get(),
                                        p.convolution, c.algorithm, workspace.get(), bytes, none(c.type),
                                        p.y.desc, p.y.get()),
                CUDNN_STATUS_SUCCESS);
    };
    if (captured)
      replay(stream, 2, call);
    else
      call();
    finish();
    expect_near(p.y, want, p.slack());
  }
  void backward(const Case& c, cudnnConvolutionBwdDataAlgo_t algorithm) {
    Problem p(c);
    const std::vector<double> want = p.backward();
    size_t bytes = 0;
    ASSERT_EQ(cudnnGetConvolutionBackwardDataWorkspaceSize(handle, p.filter, p.y.desc, p.convolution,
                                                           p.x.desc, algorithm, &bytes),
              CUDNN_STATUS_SUCCESS);
    Buffer<char> workspace(bytes + 1);
    ASSERT_EQ(cudnnConvolutionBackwardData(handle, unit(c.type), p.filter, p.w.get(), p.y.desc, p.y.get(),
                                           p.convolution, algorithm, workspace.get(), bytes, none(c.type),
                                           p.x.desc, p.x.get()),
              CUDNN_STATUS_SUCCESS);
    finish();
    expect_near(p.x, want, p.slack());
  }
};

std::vector<Case> shapes() {
  std::vector<Case> all(9);
  all[1].n = 1, all[1].c = 3, all[1].k = 5, all[1].image = {11, 6}, all[1].kernel = {5, 2},
  all[1].pad = {2, 0}, all[1].stride = {2, 3};
  all[2].dilation = {2, 3}, all[2].pad = {2, 3}, all[2].image = {12, 15};
  all[3].groups = 2;
  all[4].c = all[4].k = all[4].groups = 8, all[4].image = {13, 17};     // depthwise
  all[5].image = {1, 40}, all[5].kernel = {1, 5}, all[5].pad = {0, 2};  // 1-d as 2-d
  all[6].kernel = {1, 1}, all[6].pad = {0, 0}, all[6].c = 32, all[6].k = 24;
  all[7].image = {5, 6, 7}, all[7].kernel = {3, 2, 3}, all[7].pad = {1, 0, 1}, all[7].stride = {1, 2, 1},
  all[7].dilation = {1, 1, 1};
  all[8].c = 300, all[8].k = 70, all[8].n = 1, all[8].image = {20, 20};
  return all;
}

TEST_F(Convolutions, ForwardOfEveryShape) {
  for (const Case& c : shapes()) {
    SCOPED_TRACE(&c - &shapes()[0]);
    forward(c);
  }
}
TEST_F(Convolutions, ForwardOfEveryType) {
  for (Type type : {Type::f64, Type::f16, Type::bf16}) {
    Case c;
    c.c = c.k = 8, c.type = type, c.math = CUDNN_DEFAULT_MATH;
    SCOPED_TRACE(static_cast<int>(type));
    forward(c);
  }
}
TEST_F(Convolutions, ForwardWithChannelsLast) {
  for (Type type : {Type::f32, Type::f16}) {
    Case c;
    c.c = c.k = 8, c.type = type, c.channels_last = true, c.stride = {2, 1};
    c.math = type == Type::f32 ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
    forward(c);
  }
}
TEST_F(Convolutions, TheOtherAlgorithmAndTheFlippedFilter) {
  Case c;
  c.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  forward(c);
  c.mode = CUDNN_CONVOLUTION;
  forward(c);
}
TEST_F(Convolutions, InAGraph) { forward({}, true); }
TEST_F(Convolutions, BackwardDataOfEveryShape) {
  for (const Case& c : shapes())
    for (auto algorithm : {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1}) {
      SCOPED_TRACE(c.c * 1000 + c.image.back());
      backward(c, algorithm);
    }
}
TEST_F(Convolutions, BackwardDataOfOtherTypes) {
  Case c;
  c.c = c.k = 8, c.stride = {2, 2}, c.image = {9, 9};
  for (Type type : {Type::f64, Type::f16}) {
    c.type = type, c.math = CUDNN_DEFAULT_MATH;
    backward(c, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1);
  }
}
TEST_F(Convolutions, DefaultMathKeepsTenBits) {
  Case c;
  c.n = c.c = c.k = 1, c.image = {1, 1}, c.kernel = {1, 1}, c.pad = {0, 0};
  for (cudnnMathType_t math : {CUDNN_FMA_MATH, CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH}) {
    c.math = math, c.c = c.k = 8;
    Problem p(c);
    for (int i = 0; i < 8; ++i) p.x.numbers.set(i, 1 + std::ldexp(1.0, -12));
    for (int i = 0; i < 64; ++i) p.w.numbers.set(i, i % 9 == 0);
    ASSERT_EQ(cudnnConvolutionForward(handle, &one, p.x.desc, p.x.get(), p.filter, p.w.get(), p.convolution,
                                      CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero, p.y.desc,
                                      p.y.get()),
              CUDNN_STATUS_SUCCESS);
    finish();
#if !STITCH_ON_GPU  // which may use TF32, or not
    EXPECT_EQ(p.y[0], math == CUDNN_FMA_MATH ? 1 + std::ldexp(1.0, -12) : 1);
#endif
  }
}
TEST_F(Convolutions, AlphaAndBeta) {
  Problem p(Case{});
  const std::vector<double> product = p.forward();
  std::vector<double> want = p.y.values();
  for (size_t i = 0; i < want.size(); ++i) want[i] = 2 * product[i] - 3 * want[i];
  const float two = 2, minus_three = -3;
  ASSERT_EQ(cudnnConvolutionForward(handle, &two, p.x.desc, p.x.get(), p.filter, p.w.get(), p.convolution,
                                    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &minus_three,
                                    p.y.desc, p.y.get()),
            CUDNN_STATUS_SUCCESS);
  finish();
  expect_near(p.y, want, 1e-4);
}
TEST_F(Convolutions, WithBiasAndActivation) {
  for (Type type : {Type::f32, Type::f16})
    for (bool relu : {true, false}) {
      Case c;
      c.c = c.k = 8, c.type = type;
      Problem p(c);
      Tensor z(type, p.y.shape, 9);
      std::vector<double> want = p.forward();
      const size_t pixels = want.size() / (c.n * c.k);
      for (size_t i = 0; i < want.size(); ++i) {
        want[i] += 0.5 * z[i] + p.bias[i / pixels % c.k];
        if (relu) want[i] = std::max(0.0, want[i]);
      }
      cudnnActivationDescriptor_t activation;
      cudnnCreateActivationDescriptor(&activation);
      cudnnSetActivationDescriptor(activation, relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
                                   CUDNN_NOT_PROPAGATE_NAN, 0);
      size_t bytes = 0;
      cudnnGetConvolutionForwardWorkspaceSize(handle, p.x.desc, p.filter, p.convolution, p.y.desc,
                                              c.algorithm, &bytes);
      Buffer<char> workspace(bytes + 1);
      const float half = 0.5f;
      ASSERT_EQ(cudnnConvolutionBiasActivationForward(handle, &one, p.x.desc, p.x.get(), p.filter, p.w.get(),
                                                      p.convolution, c.algorithm, workspace.get(), bytes,
                                                      &half, z.desc, z.get(), p.bias.desc, p.bias.get(),
                                                      activation, p.y.desc, p.y.get()),
                CUDNN_STATUS_SUCCESS);
      finish();
      expect_near(p.y, want, p.slack());
      cudnnDestroyActivationDescriptor(activation);
    }
}
TEST_F(Convolutions, AlgorithmsAndOutputSizes) {
  Problem p(shapes()[1]);
  int n, c, h, w, found = 0;
  ASSERT_EQ(cudnnGetConvolution2dForwardOutputDim(p.convolution, p.x.desc, p.filter, &n, &c, &h, &w),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ((std::vector<int>{n, c, h, w}), p.y.shape.dims);
  cudnnConvolutionFwdAlgoPerf_t forward[3];
  ASSERT_EQ(cudnnGetConvolutionForwardAlgorithm_v7(handle, p.x.desc, p.filter, p.convolution, p.y.desc, 3,
                                                   &found, forward),
            CUDNN_STATUS_SUCCESS);
  ASSERT_GE(found, 1);
  EXPECT_EQ(forward[0].status, CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnFindConvolutionForwardAlgorithm(handle, p.x.desc, p.filter, p.convolution, p.y.desc, 1,
                                                 &found, forward),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(forward[0].status, CUDNN_STATUS_SUCCESS);
  cudnnConvolutionBwdDataAlgoPerf_t backward[3];
  ASSERT_EQ(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, p.filter, p.y.desc, p.convolution, p.x.desc,
                                                        3, &found, backward),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(backward[0].status, CUDNN_STATUS_SUCCESS);
}
TEST_F(Convolutions, WrongArguments) {
  Problem p(Case{}), other(shapes()[1]);
  auto run = [&](cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y, const void* data,
                 cudnnConvolutionFwdAlgo_t algorithm) {
    return cudnnConvolutionForward(handle, &one, x, data, p.filter, p.w.get(), p.convolution, algorithm,
                                   nullptr, 0, &zero, y, p.y.get());
  };
  const auto gemm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  EXPECT_EQ(run(p.x.desc, p.y.desc, p.x.get(), gemm), CUDNN_STATUS_SUCCESS);
  EXPECT_NE(run(other.x.desc, p.y.desc, p.x.get(), gemm), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(run(p.x.desc, other.y.desc, p.x.get(), gemm) / 1000, 2);
  EXPECT_EQ(run(p.x.desc, p.y.desc, p.x.get(), CUDNN_CONVOLUTION_FWD_ALGO_DIRECT) / 1000, 3);
  Tensor half(Type::f16, p.x.shape, 1);
  EXPECT_NE(run(half.desc, p.y.desc, half.get(), gemm), CUDNN_STATUS_SUCCESS);
  finish();
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM");
  EXPECT_GE(cudnnGetVersion(), 90000u);
}

#if !STITCH_ON_GPU
TEST_F(Convolutions, AWorkspaceThatIsTooSmallIsRefused) {
  Problem p(Case{});
  EXPECT_EQ(cudnnConvolutionForward(handle, &one, p.x.desc, p.x.get(), p.filter, p.w.get(), p.convolution,
                                    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, nullptr, 0, &zero,
                                    p.y.desc, p.y.get()),
            CUDNN_STATUS_BAD_PARAM);
  char why[100];
  cudnnGetLastErrorString(why, sizeof why);
  EXPECT_STREQ(why, "the workspace is smaller than the algorithm needs");
}
TEST_F(Convolutions, MemoryOutsideAnAllocationIsAFault) {
  Problem p(Case{});
  Buffer<float> small(10);
  EXPECT_EQ(cudnnConvolutionForward(handle, &one, p.x.desc, p.x.get(), p.filter, small.get(), p.convolution,
                                    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero, p.y.desc,
                                    p.y.get()),
            CUDNN_STATUS_SUCCESS);
  Outcome end = outcome();
  EXPECT_EQ(end.error, cudaErrorIllegalAddress);
  EXPECT_EQ(end.report,
            "cudnnConvolutionForward 2x6x1x7x9 kernel 3x3 of 4: operand w needs 864 bytes, but its "
            "allocation (40 bytes) ends "
            "after 40");
}
#endif

}  // namespace
}  // namespace stitch::emulated
