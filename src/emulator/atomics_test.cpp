#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>

#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

class Atomics : public OnDevice {};

template <class T>
__global__ void add_ones(T* sum, T one) {
  atomicAdd(sum, one);
  atomicAdd_block(sum, one);
  atomicAdd_system(sum, one);
}
template <class T>
T sum_of_many(T one) {
  stitch_emulated_set_threads(4);
  Buffer<T> sum(1, one);
  STITCH_KERNEL(add_ones<T>).on(64, 128)(sum.get(), one);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return sum[0];
}
constexpr int many = 1 + 3 * 64 * 128;
TEST_F(Atomics, AddInt) { EXPECT_EQ(sum_of_many(1), many); }
TEST_F(Atomics, AddUnsigned) { EXPECT_EQ(sum_of_many(1u), static_cast<unsigned>(many)); }
TEST_F(Atomics, AddUnsignedLongLong) {
  EXPECT_EQ(sum_of_many(1ull << 33), static_cast<unsigned long long>(many) << 33);
}
TEST_F(Atomics, AddFloat) { EXPECT_EQ(sum_of_many(1.0f), many); }
TEST_F(Atomics, AddDouble) { EXPECT_EQ(sum_of_many(0.5), many * 0.5); }

template <class T>
__global__ void add_few(T* sum, T one) {
  atomicAdd(sum, one);
}
TEST_F(Atomics, AddHalfAndBfloat) {
  Buffer<__half> h(1, __half(0.0f));
  Buffer<__half2> h2(1, __half2(0.0f, 0.0f));
  Buffer<__nv_bfloat16> b(1, __nv_bfloat16(0.0f));
  Buffer<__nv_bfloat162> b2(1, __nv_bfloat162(0.0f, 0.0f));
  STITCH_KERNEL(add_few<__half>).on(8, 128)(h.get(), __half(1.0f));
  STITCH_KERNEL(add_few<__half2>).on(8, 128)(h2.get(), __half2(1.0f, 2.0f));
  STITCH_KERNEL(add_few<__nv_bfloat16>).on(2, 100)(b.get(), __nv_bfloat16(1.0f));
  STITCH_KERNEL(add_few<__nv_bfloat162>).on(2, 100)(b2.get(), __nv_bfloat162(1.0f, -1.0f));
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(static_cast<float>(h[0]), 1024);
  EXPECT_EQ(__high2float(h2[0]), 2048);
  EXPECT_EQ(static_cast<float>(b[0]), 200);
  EXPECT_EQ(__high2float(b2[0]), -200);
}
TEST_F(Atomics, AddVectors) {
  Buffer<float4> sum(1, float4{0, 0, 0, 0});
  STITCH_KERNEL(add_few<float4>).on(8, 32)(sum.get(), float4{1, 2, 3, 4});
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(sum[0].w, 4 * 256);
}

template <class T>
__global__ void extremes(T* out, const T* in, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  atomicMin(&out[0], in[i]);
  atomicMax(&out[1], in[i]);
}
template <class T>
void check_extremes() {
  constexpr int n = 3000;
  Buffer<T> in(n), out(2);
  for (int i = 0; i < n; ++i) in[i] = static_cast<T>(static_cast<long long>(i) * 7919 % n - n / 2);
  T low = in[0], high = in[0];
  for (int i = 0; i < n; ++i) low = std::min<T>(low, in[i]), high = std::max<T>(high, in[i]);
  out[0] = out[1] = in[5];
  STITCH_KERNEL(extremes<T>).on(24, 128)(out.get(), in.get(), n);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out[0], low);
  EXPECT_EQ(out[1], high);
}
TEST_F(Atomics, MinAndMax) {
  check_extremes<int>();
  check_extremes<unsigned>();
  check_extremes<long long>();
  check_extremes<unsigned long long>();
}

template <class T>
__global__ void combine_bits(T* out) {
  const T bit = T{1} << (threadIdx.x % (8 * sizeof(T)));
  atomicOr(&out[0], bit);
  atomicAnd(&out[1], static_cast<T>(~bit));
  atomicXor(&out[2], bit);
}
TEST_F(Atomics, Bitwise) {
  Buffer<unsigned> out(3);
  out[1] = ~0u;
  STITCH_KERNEL(combine_bits<unsigned>).on(1, 96)(out.get());
  EXPECT_EQ(out[0], ~0u);
  EXPECT_EQ(out[1], 0u);
  EXPECT_EQ(out[2], ~0u);  // three times each
  Buffer<unsigned long long> wide(3);
  STITCH_KERNEL(combine_bits<unsigned long long>).on(1, 64)(wide.get());
  EXPECT_EQ(wide[0], ~0ull);
}

__global__ void count(unsigned* up, unsigned* down, int* sub, unsigned* seen) {
  atomicAdd(&seen[atomicInc(up, 9)], 1u);
  atomicDec(down, 6);
  atomicSub(sub, 2);
}
TEST_F(Atomics, IncDecSub) {
  Buffer<unsigned> up(1), down(1), seen(10);
  Buffer<int> sub(1);
  STITCH_KERNEL(count).on(10, 100)(up.get(), down.get(), sub.get(), seen.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(seen[i], 100u);  // it wraps around after 9
  EXPECT_EQ(up[0], 0u);
  EXPECT_EQ(down[0], (7 - 1000 % 7) % 7u);
  EXPECT_EQ(sub[0], -2000);
}

__global__ void with_lock(int* lock, int* value) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *value += 1;
  __threadfence();
  atomicExch(lock, 0);
}
TEST_F(Atomics, CompareAndSwapMakesALock) {
  stitch_emulated_set_threads(4);
  Buffer<int> lock(1), value(1);
  STITCH_KERNEL(with_lock).on(20, 50)(lock.get(), value.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(value[0], 1000);
}
__global__ void cas_all(unsigned short* s, unsigned long long* w, float* f) {
  atomicCAS(s, static_cast<unsigned short>(3), static_cast<unsigned short>(4));
  atomicCAS(w, 3ull, 5ull);
  atomicExch(f, 2.5f);
}
TEST_F(Atomics, CompareAndSwapOfOtherWidths) {
  Buffer<unsigned short> s(1, 3);
  Buffer<unsigned long long> w(1, 3);
  Buffer<float> f(1);
  STITCH_KERNEL(cas_all).on(1, 1)(s.get(), w.get(), f.get());
  EXPECT_EQ(s[0], 4);
  EXPECT_EQ(w[0], 5u);
  EXPECT_EQ(f[0], 2.5f);
}
__global__ void with_atomic_ref(int* sum) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ref(*sum);
  ref.fetch_add(2, cuda::std::memory_order_relaxed);
}
TEST_F(Atomics, CudaAtomicRef) {
  Buffer<int> sum(1);
  STITCH_KERNEL(with_atomic_ref).on(10, 100)(sum.get());
  EXPECT_EQ(sum[0], 2000);
}

}  // namespace
}  // namespace stitch::emulated
