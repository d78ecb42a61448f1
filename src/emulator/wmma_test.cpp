// Tensor-core tiles against plain loops.
#include <mma.h>

#include <type_traits>
#include <vector>

#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

using namespace nvcuda;

template <int M, int N, int K, class T, class ALayout, class BLayout, class C>
__global__ void multiply(const typename wmma::stitch::Storage<T>::type* a,
                         const typename wmma::stitch::Storage<T>::type* b, C* c, int lda, int ldb, int ldc,
                         wmma::layout_t layout) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, ALayout> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, BLayout> fb;
  wmma::fragment<wmma::accumulator, M, N, K, C> fc, start;
  wmma::load_matrix_sync(fa, a, static_cast<unsigned>(lda));
  wmma::load_matrix_sync(fb, b, static_cast<unsigned>(ldb));
  wmma::load_matrix_sync(start, c, static_cast<unsigned>(ldc), layout);
  wmma::fill_fragment(fc, 0.0f);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = static_cast<C>(fc.x[i] + start.x[i]);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, static_cast<unsigned>(ldc), layout);
}

template <class T, class V>
double seen(V x) {
  if constexpr (std::is_same_v<T, wmma::precision::tf32>)
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
  else
    return static_cast<double>(static_cast<float>(x));
}

template <int M, int N, int K, class T, class ALayout, class BLayout, class C>
void check(wmma::layout_t layout) {
  using V = typename wmma::stitch::Storage<T>::type;
  constexpr bool a_row = std::is_same_v<ALayout, wmma::row_major>,
                 b_row = std::is_same_v<BLayout, wmma::row_major>;
  const bool c_row = layout == wmma::mem_row_major;
  const int lda = (a_row ? K : M) + 8, ldb = (b_row ? N : K) + 8, ldc = (c_row ? N : M) + 4;
  Buffer<V> a(static_cast<size_t>(lda * (a_row ? M : K))), b(static_cast<size_t>(ldb * (b_row ? K : N)));
  Buffer<C> c(static_cast<size_t>(ldc * (c_row ? M : N)));
  for (size_t i = 0; i < a.size(); ++i) a[i] = V(static_cast<float>(static_cast<int>(i * 7 % 23) - 11) / 4);
  for (size_t i = 0; i < b.size(); ++i) b[i] = V(static_cast<float>(static_cast<int>(i * 5 % 19) - 9) / 2);
  for (size_t i = 0; i < c.size(); ++i) c[i] = C(static_cast<float>(i % 3));
  std::vector<C> before = c.vector();
  STITCH_KERNEL(multiply<M, N, K, T, ALayout, BLayout, C>)
      .on(1, 32)(a.get(), b.get(), c.get(), lda, ldb, ldc, layout);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << stitch_emulated_last_report();
  for (int row = 0; row < M; ++row)
    for (int column = 0; column < N; ++column) {
      const auto at = static_cast<size_t>(c_row ? row * ldc + column : column * ldc + row);
      double want = static_cast<double>(static_cast<float>(before[at]));
      for (int k = 0; k < K; ++k)
        want += seen<T>(a[static_cast<size_t>(a_row ? row * lda + k : k * lda + row)]) *
                seen<T>(b[static_cast<size_t>(b_row ? k * ldb + column : column * ldb + k)]);
      ASSERT_EQ(static_cast<double>(static_cast<float>(c[at])),
                static_cast<double>(static_cast<float>(C(static_cast<float>(want)))))
          << row << ", " << column;
    }
}
template <int M, int N, int K, class T, class C>
void check_layouts() {
  using wmma::col_major;
  using wmma::row_major;
  for (wmma::layout_t layout : {wmma::mem_row_major, wmma::mem_col_major}) {
    check<M, N, K, T, row_major, row_major, C>(layout);
    check<M, N, K, T, row_major, col_major, C>(layout);
    check<M, N, K, T, col_major, row_major, C>(layout);
    check<M, N, K, T, col_major, col_major, C>(layout);
  }
}

class Wmma : public OnDevice {};
TEST_F(Wmma, HalfToFloat16x16x16) { check_layouts<16, 16, 16, __half, float>(); }
TEST_F(Wmma, HalfToFloat32x8x16) { check_layouts<32, 8, 16, __half, float>(); }
TEST_F(Wmma, HalfToFloat8x32x16) { check_layouts<8, 32, 16, __half, float>(); }
TEST_F(Wmma, HalfToHalf16x16x16) { check_layouts<16, 16, 16, __half, __half>(); }
TEST_F(Wmma, HalfToHalf32x8x16) { check_layouts<32, 8, 16, __half, __half>(); }
TEST_F(Wmma, BfloatToFloat16x16x16) { check_layouts<16, 16, 16, __nv_bfloat16, float>(); }
TEST_F(Wmma, BfloatToFloat32x8x16) { check_layouts<32, 8, 16, __nv_bfloat16, float>(); }
TEST_F(Wmma, BfloatToFloat8x32x16) { check_layouts<8, 32, 16, __nv_bfloat16, float>(); }
TEST_F(Wmma, Tf32ToFloat16x16x8) { check_layouts<16, 16, 8, wmma::precision::tf32, float>(); }
TEST_F(Wmma, BytesToInt16x16x16) { check_layouts<16, 16, 16, signed char, int>(); }

__global__ void round_inputs(float* x) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> f;
  wmma::load_matrix_sync(f, x, 8);
  for (float& value : f.x) value = wmma::__float_to_tf32(value);
  for (int i = 0; i < f.num_elements; ++i)
    x[threadIdx.x * f.num_elements + static_cast<unsigned>(i)] = f.x[i];
}
TEST_F(Wmma, Tf32RoundingOfFragments) {
  Buffer<float> x(128);
  for (size_t i = 0; i < 128; ++i) x[i] = 1.0f + static_cast<float>(i) * 0x1p-13f;
  std::vector<float> before = x.vector();
  STITCH_KERNEL(round_inputs).on(1, 32)(x.get());
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(x[i], __float_to_tf32(before[i]));
}
__global__ void half_a_warp(float* c) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
  wmma::fill_fragment(f, 1.0f);
  if (threadIdx.x < 16)
    wmma::store_matrix_sync(c, f, 16, wmma::mem_row_major);
  else
    __syncthreads();
}
TEST_F(Wmma, HalfAWarpIsReported) {
  Buffer<float> c(256);
  STITCH_KERNEL(half_a_warp).on(1, 32)(c.get());
  Outcome got = outcome();
  EXPECT_EQ(got.error, cudaErrorLaunchFailure);
  EXPECT_NE(got.report.find("threads 0-15 wait at store_matrix_sync"), std::string::npos) << got.report;
}

}  // namespace
}  // namespace stitch::emulated
