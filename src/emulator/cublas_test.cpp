// cuBLAS's products against the definition.
#include <cublas_v2.h>

#include "emulator/test_numbers.h"

namespace stitch::emulated {
namespace {

class Cublas : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
  }
  void TearDown() override {
    cublasDestroy(handle);
    cudaStreamDestroy(stream);
    OnDevice::TearDown();
  }
  cublasHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
};

TEST_F(Cublas, SgemmOfEveryTranspose) {
  const int m = 13, n = 6, k = 21;
  Numbers a = Numbers::random(Type::f32, m * k, 1), b = Numbers::random(Type::f32, k * n, 2);
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      Numbers c = Numbers::random(Type::f32, m * n, 3), before = Numbers::random(Type::f32, m * n, 3);
      const float alpha = 2, beta = -1;
      ASSERT_EQ(cublasSgemm(handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k,
                            &alpha, static_cast<float*>(a.get()), ta ? k : m, static_cast<float*>(b.get()),
                            tb ? n : k, &beta, static_cast<float*>(c.get()), m),
                CUBLAS_STATUS_SUCCESS);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          double sum = 0;
          for (int p = 0; p < k; ++p) sum += a[ta ? i * k + p : p * m + i] * b[tb ? p * n + j : j * k + p];
          EXPECT_NEAR(c[j * m + i], 2 * sum - before[j * m + i], 1e-5);
        }
    }
}
TEST_F(Cublas, TheMathModeAllowsTf32) {
  // 1 + 2^-12 needs more bits than TF32 has.
  Buffer<float> a(64, 1 + std::ldexp(1.0f, -12)), b(64, 1), c(64);
  const float one = 1, zero = 0;
  auto multiply = [&] {
    EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a.get(), 8, b.get(), 8, &zero,
                          c.get(), 8),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return c[0];
  };
  EXPECT_EQ(multiply(), 8 + std::ldexp(1.0f, -9));
  EXPECT_EQ(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(), 8);
}
TEST_F(Cublas, StridedBatchesWithOneSharedOperand) {
  const int m = 4, n = 5, k = 3, batch = 7;
  Numbers a = Numbers::random(Type::f32, m * k, 1), b = Numbers::random(Type::f32, k * n * batch, 2);
  Numbers c(Type::f32, m * n * batch);
  const float one = 1, zero = 0;
  replay(stream, 1, [&] {
    EXPECT_EQ(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one,
                                        static_cast<float*>(a.get()), m, 0, static_cast<float*>(b.get()), k,
                                        k * n, &zero, static_cast<float*>(c.get()), m, m * n, batch),
              CUBLAS_STATUS_SUCCESS);
  });
  for (int z = 0; z < batch; ++z)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int p = 0; p < k; ++p) sum += a[p * m + i] * b[z * k * n + j * k + p];
        EXPECT_NEAR(c[z * m * n + j * m + i], sum, 1e-6);
      }
}
TEST_F(Cublas, HalfInFloatOut) {
  const int m = 16, n = 8, k = 40;
  Numbers a = Numbers::random(Type::f16, m * k, 1), b = Numbers::random(Type::f16, k * n, 2),
          c(Type::f32, m * n);
  const float one = 1, zero = 0;
  ASSERT_EQ(
      cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a.get(), CUDA_R_16F, m, b.get(),
                   CUDA_R_16F, k, &zero, c.get(), CUDA_R_32F, m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  double sum = 0;
  for (int p = 0; p < k; ++p) sum += a[p * m + 3] * b[5 * k + p];
  EXPECT_NEAR(c[5 * m + 3], sum, 1e-5);  // products of halves are exact
}
TEST_F(Cublas, MatrixTimesVector) {
  const int m = 6, n = 4;
  Numbers a = Numbers::random(Type::f32, m * n, 1), x = Numbers::random(Type::f32, 2 * m, 2),
          y(Type::f32, 3 * m);
  const float one = 1, zero = 0;
  ASSERT_EQ(cublasSgemv(handle, CUBLAS_OP_N, m, n, &one, static_cast<float*>(a.get()), m,
                        static_cast<float*>(x.get()), 2, &zero, static_cast<float*>(y.get()), 3),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < m; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += a[j * m + i] * x[2 * j];
    EXPECT_NEAR(y[3 * i], sum, 1e-6);
  }
  ASSERT_EQ(cublasSgemv(handle, CUBLAS_OP_T, m, n, &one, static_cast<float*>(a.get()), m,
                        static_cast<float*>(x.get()), 1, &zero, static_cast<float*>(y.get()), 1),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int j = 0; j < n; ++j) {
    double sum = 0;
    for (int i = 0; i < m; ++i) sum += a[j * m + i] * x[i];
    EXPECT_NEAR(y[j], sum, 1e-6);
  }
}
TEST_F(Cublas, WrongArgumentsHaveTheirStatus) {
  Buffer<float> x(64);
  const float one = 1, zero = 0;
  auto gemm = [&](int m, int ld, cudaDataType type) {
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, 4, 4, &one, x.get(), CUDA_R_32F, ld, x.get(),
                        CUDA_R_32F, 4, &zero, x.get() + 32, type, 8, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
  EXPECT_EQ(gemm(0, 4, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(gemm(-1, 4, CUDA_R_32F), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(8, 4, CUDA_R_32F), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(4, 4, CUDA_R_16F), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasSetStream(nullptr, stream), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_EXECUTION_FAILED), "CUBLAS_STATUS_EXECUTION_FAILED");
}

}  // namespace
}  // namespace stitch::emulated
