// cuBLASLt against the definition in double.
#include <cublasLt.h>

#include "emulator/test_numbers.h"

namespace stitch::emulated {
namespace {

struct Layout {
  int rows, columns;
  bool by_row;
  int ld;
  size_t at(int i, int j) const {
    return by_row ? static_cast<size_t>(i) * ld + j : static_cast<size_t>(j) * ld + i;
  }
  size_t count() const { return static_cast<size_t>(by_row ? rows : columns) * ld; }
};

cudaDataType code(Type type) {
  constexpr cudaDataType all[] = {CUDA_R_64F,     CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF,
                                  CUDA_R_8F_E4M3, CUDA_R_8I,  CUDA_R_32I};
  return all[static_cast<int>(type)];
}

struct Case {
  int m = 5, n = 7, k = 3, batch = 1;
  bool transa = false, transb = false, a_by_row = false, b_by_row = false, d_by_row = false;
  Type in = Type::f32, out = Type::f32;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  double alpha = 1, beta = 0;
  int pad = 0;  // elements between rows or columns
  unsigned epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  bool in_place = true;
};

class CublasLt : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    ASSERT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    OnDevice::TearDown();  // first: a failed device destroys nothing
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtDestroy(handle);
    cudaStreamDestroy(stream);
  }
  template <class T>
  void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, T value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }
  cublasLtMatrixLayout_t layout(Type type, const Layout& of, int batch) {
    cublasLtMatrixLayout_t out;
    cublasLtMatrixLayoutCreate(&out, code(type), of.rows, of.columns, of.ld);
    const int order = of.by_row ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    cublasLtMatrixLayoutSetAttribute(out, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order);
    const long long step = static_cast<long long>(of.count());
    cublasLtMatrixLayoutSetAttribute(out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    cublasLtMatrixLayoutSetAttribute(out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step);
    return out;
  }
  static Layout shape(int rows, int columns, bool by_row, int pad) {
    return {rows, columns, by_row, (by_row ? columns : rows) + pad};
  }
  void check(const Case& c, bool captured = false);

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cudaStream_t stream = nullptr;
};

double activation(unsigned epilogue, double x) {
  if (epilogue & CUBLASLT_EPILOGUE_RELU) return std::max(0.0, x);
  if (epilogue & CUBLASLT_EPILOGUE_GELU)
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x;
}

void CublasLt::check(const Case& c, bool captured) {
  const Layout a = shape(c.transa ? c.k : c.m, c.transa ? c.m : c.k, c.a_by_row, c.pad);
  const Layout b = shape(c.transb ? c.n : c.k, c.transb ? c.k : c.n, c.b_by_row, c.pad);
  const Layout d = shape(c.m, c.n, c.d_by_row, c.pad);
  Numbers A = Numbers::random(c.in, a.count() * c.batch, 1),
          B = Numbers::random(c.in, b.count() * c.batch, 2),
          C = Numbers::random(c.out, d.count() * c.batch, 3),
          D = Numbers::random(c.out, d.count() * c.batch, 4), bias = Numbers::random(c.out, c.m, 5);
  cublasLtMatmulDesc_t desc;
  ASSERT_EQ(cublasLtMatmulDescCreate(&desc, c.compute, c.scale), CUBLAS_STATUS_SUCCESS);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSA, c.transa ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSB, c.transb ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, c.epilogue);
  if (c.epilogue & CUBLASLT_EPILOGUE_BIAS) set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.get());
  cublasLtMatrixLayout_t la = layout(c.in, a, c.batch), lb = layout(c.in, b, c.batch),
                         ld = layout(c.out, d, c.batch);
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  ASSERT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, ld, ld, preference, 1, &result, &found),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(found, 1);
  // The expected result and its rounding error.
  std::vector<double> want(D.size());
  for (size_t i = 0; i < D.size(); ++i) want[i] = c.in_place ? C[i] : D[i];
  for (int z = 0; z < c.batch; ++z)
    for (int i = 0; i < c.m; ++i)
      for (int j = 0; j < c.n; ++j) {
        double sum = 0;
        for (int p = 0; p < c.k; ++p)
          sum += A[z * a.count() + (c.transa ? a.at(p, i) : a.at(i, p))] *
                 B[z * b.count() + (c.transb ? b.at(j, p) : b.at(p, j))];
        double value = c.alpha * sum + c.beta * C[z * d.count() + d.at(i, j)];
        if (c.epilogue & CUBLASLT_EPILOGUE_BIAS) value += bias[i];
        want[z * d.count() + d.at(i, j)] = activation(c.epilogue, value);
      }
  union {
    float f;
    double d;
    int i;
    __half_raw h;
  } alpha, beta;
  if (c.scale == CUDA_R_64F) {
    alpha.d = c.alpha, beta.d = c.beta;
  } else if (c.scale == CUDA_R_32I) {
    alpha.i = static_cast<int>(c.alpha), beta.i = static_cast<int>(c.beta);
  } else if (c.scale == CUDA_R_16F) {
    alpha.h = __float2half(static_cast<float>(c.alpha)), beta.h = __float2half(static_cast<float>(c.beta));
  } else {
    alpha.f = static_cast<float>(c.alpha), beta.f = static_cast<float>(c.beta);
  }
  void* to = c.in_place ? C.get() : D.get();
  auto call = [&] {
    ASSERT_EQ(cublasLtMatmul(handle, desc, &alpha, A.get(), la, B.get(), lb, &beta, C.get(), ld, to, ld,
                             &result.algo, nullptr, 0, stream),
              CUBLAS_STATUS_SUCCESS);
  };
  if (captured)
    replay(stream, 1, call);
  else
    call();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  // fp8 products are accumulated with fewer bits, and the GPU's tanh is approximate.
  const double operand_error =
      c.compute == CUBLAS_COMPUTE_32F_FAST_TF32 || c.compute == CUBLAS_COMPUTE_32F_FAST_16F ? 2e-3
      : c.compute == CUBLAS_COMPUTE_16F                           ? 1e-3 * std::sqrt(c.k)
      : c.in == Type::e4m3 || c.epilogue & CUBLASLT_EPILOGUE_GELU ? 1e-4
                                                                  : 1e-6;
  const double slack = c.out == Type::f64   ? 1e-13
                       : c.out == Type::i32 ? 0
                                            : 2 * spacing(c.out) + operand_error * (1 + std::sqrt(c.k));
  Numbers& got = c.in_place ? C : D;
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got[i], want[i], slack * std::max(1.0, std::abs(want[i]))) << "at " << i;
  for (auto each : {la, lb, ld}) cublasLtMatrixLayoutDestroy(each);
  cublasLtMatmulDescDestroy(desc);
}

TEST_F(CublasLt, EveryTransposeAndOrder) {
  for (int bits = 0; bits < 32; ++bits) {
    Case c;
    c.transa = bits & 1, c.transb = bits & 2, c.a_by_row = bits & 4, c.b_by_row = bits & 8,
    c.d_by_row = bits & 16;
    c.alpha = 1.5, c.beta = bits & 1 ? 0.5 : 0;
    SCOPED_TRACE(bits);
    check(c);
  }
}
TEST_F(CublasLt, OddSizesAndGapsBetweenColumns) {
  const int sizes[][3] = {{1, 1, 1}, {1, 9, 4}, {9, 1, 4}, {17, 33, 65}, {130, 70, 300}, {64, 257, 513}};
  for (const auto& s : sizes) {
    Case c;
    c.m = s[0], c.n = s[1], c.k = s[2], c.pad = 3, c.beta = 1;
    SCOPED_TRACE(s[0]);
    check(c);
    c.in_place = false;
    check(c);
  }
}
TEST_F(CublasLt, EveryTypeItTakes) {
  const struct {
    Type in, out;
    cublasComputeType_t compute;
    cudaDataType scale;
  } all[] = {{Type::f64, Type::f64, CUBLAS_COMPUTE_64F, CUDA_R_64F},
             {Type::f32, Type::f32, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F},
             {Type::f32, Type::f32, CUBLAS_COMPUTE_32F_FAST_16F, CUDA_R_32F},
             {Type::f16, Type::f16, CUBLAS_COMPUTE_32F, CUDA_R_32F},
             {Type::f16, Type::f32, CUBLAS_COMPUTE_32F, CUDA_R_32F},
             {Type::bf16, Type::bf16, CUBLAS_COMPUTE_32F, CUDA_R_32F},
             {Type::bf16, Type::f32, CUBLAS_COMPUTE_32F, CUDA_R_32F},
             {Type::f16, Type::f16, CUBLAS_COMPUTE_16F, CUDA_R_16F},
             {Type::i8, Type::i32, CUBLAS_COMPUTE_32I, CUDA_R_32I},
             {Type::e4m3, Type::bf16, CUBLAS_COMPUTE_32F, CUDA_R_32F},
             {Type::e4m3, Type::f32, CUBLAS_COMPUTE_32F, CUDA_R_32F}};
  for (const auto& each : all) {
    Case c;
    c.m = 32, c.n = 16, c.k = 48, c.transa = true;
    c.in = each.in, c.out = each.out, c.compute = each.compute, c.scale = each.scale;
    SCOPED_TRACE(static_cast<int>(each.in) * 100 + static_cast<int>(each.out));
    check(c);
  }
}
TEST_F(CublasLt, Epilogues) {
  for (unsigned epilogue : {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
                            CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS})
    for (Type type : {Type::f32, Type::f16, Type::bf16})
      for (int batch : {1, 3}) {
        Case c;
        c.m = 24, c.n = 10, c.k = 16, c.batch = batch, c.in = c.out = type, c.epilogue = epilogue,
        c.beta = 0.25;
        SCOPED_TRACE(epilogue);
        check(c);
      }
}
TEST_F(CublasLt, BatchesAndGraphs) {
  for (int batch : {2, 5}) {
    Case c;
    c.m = 6, c.n = 4, c.k = 9, c.batch = batch, c.transb = true, c.beta = 1, c.in_place = false;
    check(c);
    check(c, true);
  }
}

// A descriptor for a plain product of float matrices, m = n = k = 8.
class CublasLtStatus : public CublasLt {
 protected:
  void SetUp() override {
    CublasLt::SetUp();
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    plain = layout(Type::f32, {8, 8, false, 8}, 1);
  }
  void TearDown() override {
    cublasLtMatrixLayoutDestroy(plain);
    cublasLtMatmulDescDestroy(desc);
    CublasLt::TearDown();
  }
  cublasStatus_t heuristic(cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t d) {
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, d, d, preference, 1, &result, &found);
  }
  cublasStatus_t multiply(const void* alpha, const void* a, const void* b, const void* beta, void* d,
                          cublasLtMatrixLayout_t a_layout) {
    return cublasLtMatmul(handle, desc, alpha, a, a_layout, b, plain, beta, d, plain, d, plain, nullptr,
                          nullptr, 0, stream);
  }
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t plain = nullptr;
  float one = 1, zero = 0;
};

TEST_F(CublasLtStatus, WhatDoesNotFitIsAnInvalidValue) {
  Buffer<float> x(64), y(64), z(64);
  EXPECT_EQ(multiply(&one, x.get(), y.get(), &zero, z.get(), plain), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(&one, nullptr, y.get(), &zero, z.get(), plain), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(multiply(&one, x.get(), y.get(), &zero, nullptr, plain), CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatrixLayout_t narrow = layout(Type::f32, {8, 7, false, 8}, 1),
                         many = layout(Type::f32, {8, 8, false, 8}, 2);
  EXPECT_EQ(multiply(&one, x.get(), y.get(), &zero, z.get(), narrow), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(multiply(&one, x.get(), y.get(), &zero, z.get(), many), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(heuristic(narrow, plain, plain), CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatrixLayout_t thin = layout(Type::f32, {8, 8, false, 4}, 1);
  EXPECT_EQ(multiply(&one, x.get(), y.get(), &zero, z.get(), thin), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (auto each : {narrow, many, thin}) cublasLtMatrixLayoutDestroy(each);
}
TEST_F(CublasLtStatus, WhatTheLibraryDoesNotDoIsNotSupported) {
  cublasLtMatrixLayout_t half = layout(Type::f16, {8, 8, false, 8}, 1),
                         wide = layout(Type::f64, {8, 8, false, 8}, 1);
  EXPECT_EQ(heuristic(half, plain, plain), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(heuristic(wide, wide, wide), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(heuristic(plain, plain, half), CUBLAS_STATUS_NOT_SUPPORTED);
  // fp8 needs a transposed A.
  cublasLtMatrixLayout_t eight = layout(Type::e4m3, {16, 16, false, 16}, 1),
                         out = layout(Type::bf16, {16, 16, false, 16}, 1);
  EXPECT_EQ(heuristic(eight, eight, out), CUBLAS_STATUS_NOT_SUPPORTED);
  for (auto each : {half, wide, eight, out}) cublasLtMatrixLayoutDestroy(each);
}
TEST_F(CublasLtStatus, ABiasHasTheTypeOfItsResult) {
  set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(heuristic(plain, plain, plain), CUBLAS_STATUS_SUCCESS);
  cublasLtMatrixLayout_t by_row = layout(Type::f32, {8, 8, true, 8}, 1);
  EXPECT_EQ(heuristic(plain, plain, by_row), CUBLAS_STATUS_NOT_SUPPORTED);
  set(desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16F);
  EXPECT_EQ(heuristic(plain, plain, plain), CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatrixLayoutDestroy(by_row);
}
TEST_F(CublasLtStatus, NothingToAddUpIsZero) {
  Buffer<float> x(64, 1), z(64, 7);
  cublasLtMatrixLayout_t a = layout(Type::f32, {8, 0, false, 8}, 1),
                         b = layout(Type::f32, {0, 8, false, 8}, 1);
  EXPECT_EQ(cublasLtMatmul(handle, desc, &one, x.get(), a, x.get(), b, &zero, z.get(), plain, z.get(), plain,
                           nullptr, nullptr, 0, stream),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(z[0], 0);
  for (auto each : {a, b}) cublasLtMatrixLayoutDestroy(each);
}
TEST_F(CublasLtStatus, AttributesHaveSizes) {
  const short little = 0;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &little, sizeof little),
            CUBLAS_STATUS_INVALID_VALUE);
  unsigned epilogue = 0;
  size_t written = 0;
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue,
                                           &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(epilogue, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(written, 4u);
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, nullptr, 0, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_STREQ(cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
}
TEST_F(CublasLtStatus, FactorsInDeviceMemoryAreReadWhenItRuns) {
  Buffer<float> x(64, 1), y(64, 1), z(64, 5), factors(2);
  factors[0] = 2;
  set(desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
  replay(stream, 2, [&] {
    EXPECT_EQ(multiply(factors.get(), x.get(), y.get(), factors.get() + 1, z.get(), plain),
              CUBLAS_STATUS_SUCCESS);
    factors[0] = 3, factors[1] = 1;  // after the capture, before the replay
  });
  EXPECT_EQ(z[0], 5 + 2 * 24);
}
TEST_F(CublasLtStatus, BetaZeroDoesNotReadC) {
  Buffer<float> x(64, 1), y(64, 1), z(64, NAN);
  EXPECT_EQ(multiply(&one, x.get(), y.get(), &zero, z.get(), plain), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(z[63], 8);
}

#if !STITCH_ON_GPU
TEST_F(CublasLtStatus, MemoryOutsideAnAllocationIsAFault) {
  Buffer<float> x(64, 1), y(63, 1), z(64);
  EXPECT_EQ(multiply(&one, x.get(), y.get(), &zero, z.get(), plain), CUBLAS_STATUS_SUCCESS);
  Outcome end = outcome();
  EXPECT_EQ(end.error, cudaErrorIllegalAddress);
  EXPECT_EQ(end.report,
            "cublasLtMatmul 8x8x8: operand B needs 256 bytes, but its allocation (252 bytes) ends after 252");
}
TEST_F(CublasLtStatus, HostMemoryIsAFault) {
  Buffer<float> x(64, 1), z(64);
  std::vector<float> host(64);
  EXPECT_EQ(multiply(&one, x.get(), host.data(), &zero, z.get(), plain), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(outcome().report,
            "cublasLtMatmul 8x8x8: operand B needs 256 bytes, but its address is not in device memory");
}
TEST_F(CublasLtStatus, TheWorkspaceIsTheLibrarys) {
  Buffer<float> x(64, 1), y(64, 1), z(64), workspace(256, 7);
  EXPECT_EQ(cublasLtMatmul(handle, desc, &one, x.get(), plain, y.get(), plain, &zero, z.get(), plain, z.get(),
                           plain, nullptr, workspace.get(), 1024, stream),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(std::isnan(workspace[0]));
  EXPECT_EQ(z[0], 8);
}
#endif

}  // namespace
}  // namespace stitch::emulated
