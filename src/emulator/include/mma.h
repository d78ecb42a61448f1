// nvcuda::wmma: matrices held by a warp. CUDA leaves the mapping of elements to lanes unspecified; here lane
// l holds elements l * n to l * n + n - 1 of the row-major tile.
#pragma once

#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32;
}

namespace stitch {

template <class T>
struct Storage {
  using type = T;
};
template <>
struct Storage<precision::tf32> {
  using type = float;
};

// Supported combinations.
template <int M, int N, int K, class T>
constexpr bool supported() {
  constexpr bool wide =
      (M == 16 && N == 16 && K == 16) || (M == 32 && N == 8 && K == 16) || (M == 8 && N == 32 && K == 16);
  if constexpr (std::is_same_v<T, precision::tf32>) return M == 16 && N == 16 && K == 8;
  if constexpr (std::is_same_v<T, double>) return M == 8 && N == 8 && K == 4;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, int>)  // accumulators
    return wide || (std::is_same_v<T, float> && M == 16 && N == 16 && K == 8);
  return wide && (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16> ||
                  std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>);
}

template <class Use, int M, int N, int K>
struct Shape {
  static constexpr int rows = std::is_same_v<Use, matrix_b> ? K : M;
  static constexpr int columns = std::is_same_v<Use, matrix_a> ? K : N;
};

}  // namespace stitch

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static_assert(stitch::supported<M, N, K, T>(), "tensor cores have no tile of this shape and type");
  using element_type = typename stitch::Storage<T>::type;
  using storage_element_type = element_type;
  static constexpr int rows = stitch::Shape<Use, M, N, K>::rows,
                       columns = stitch::Shape<Use, M, N, K>::columns;
  static constexpr int num_elements = rows * columns / 32, num_storage_elements = num_elements;
  element_type x[num_elements];
};

template <class Use, int M, int N, int K, class T, class Layout, class Value>
inline void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, const Value& value) {
  for (auto& element : f.x)
    element = static_cast<typename fragment<Use, M, N, K, T, Layout>::element_type>(value);
}

namespace stitch {

template <class F, class Visit>
inline void each_element(Visit visit) {
  for (int i = 0; i < F::num_elements; ++i) {
    const int element = static_cast<int>(stitch_emulated::lane()) * F::num_elements + i;
    visit(i, element / F::columns, element % F::columns);
  }
}
// All lanes must take part, as on a GPU.
inline void sync_lanes(const char* what, unsigned line) {
  stitch_emulated::exchange(stitch_emulated::Collective::sync, 0xffffffffu, 0, 0, what, line);
}

}  // namespace stitch

template <class Use, int M, int N, int K, class T, class Layout, class Memory>
inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const Memory* from, unsigned stride,
                             unsigned line = __builtin_LINE()) {
  stitch::sync_lanes("load_matrix_sync", line);
  stitch::each_element<fragment<Use, M, N, K, T, Layout>>([&](int i, int row, int column) {
    f.x[i] = std::is_same_v<Layout, row_major> ? from[row * stride + column] : from[column * stride + row];
  });
}
template <int M, int N, int K, class T>
inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const T* from, unsigned stride,
                             layout_t layout, unsigned line = __builtin_LINE()) {
  stitch::sync_lanes("load_matrix_sync", line);
  stitch::each_element<fragment<accumulator, M, N, K, T>>([&](int i, int row, int column) {
    f.x[i] = layout == mem_row_major ? from[row * stride + column] : from[column * stride + row];
  });
}
template <int M, int N, int K, class T>
inline void store_matrix_sync(T* to, const fragment<accumulator, M, N, K, T>& f, unsigned stride,
                              layout_t layout, unsigned line = __builtin_LINE()) {
  stitch::each_element<fragment<accumulator, M, N, K, T>>([&](int i, int row, int column) {
    to[layout == mem_row_major ? row * stride + column : column * stride + row] = f.x[i];
  });
  stitch::sync_lanes("store_matrix_sync", line);
}

namespace stitch {

// An element as a tensor core reads it: tf32 ignores the low 13 bits of a float.
template <class T, class V>
inline auto operand(V value) {
  if constexpr (std::is_same_v<T, precision::tf32>)
    return __uint_as_float(__float_as_uint(value) & 0xFFFFE000u);
  else if constexpr (std::is_same_v<T, double>)
    return value;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<int>(value);
  else
    return static_cast<float>(value);
}

template <class D, class A, class B, class C>
struct Product {
  D* d;
  const A* a;
  const B* b;
  const C* c;
};

// d = a * b + c for the whole warp, computed by the last lane to arrive. Accumulates in float (double, int)
// and rounds once at the end.
template <int M, int N, int K, class T, class D, class A, class B, class C>
void multiply(void* const lanes[32], unsigned) {
  using P = Product<D, A, B, C>;
  using Operand = decltype(operand<T>(typename Storage<T>::type{}));
  Operand a[M][K], b[K][N], sum[M][N];
  auto spread = [&](auto pick, auto store) {
    for (int lane = 0; lane < 32; ++lane) {
      auto* f = pick(static_cast<P*>(lanes[lane]));
      using F = std::remove_cv_t<std::remove_pointer_t<decltype(f)>>;
      for (int i = 0; i < F::num_elements; ++i) {
        const int element = lane * F::num_elements + i;
        store(f->x[i], element / F::columns, element % F::columns);
      }
    }
  };
  spread([](P* p) { return p->a; }, [&](auto& x, int row, int column) { a[row][column] = operand<T>(x); });
  spread([](P* p) { return p->b; }, [&](auto& x, int row, int column) { b[row][column] = operand<T>(x); });
  spread([](P* p) { return p->c; },
         [&](auto& x, int row, int column) { sum[row][column] = static_cast<Operand>(x); });
  for (int row = 0; row < M; ++row)
    for (int k = 0; k < K; ++k)
      for (int column = 0; column < N; ++column) sum[row][column] += a[row][k] * b[k][column];
  spread([](P* p) { return p->d; },
         [&](auto& x, int row, int column) {
           x = static_cast<std::remove_reference_t<decltype(x)>>(sum[row][column]);
         });
}

}  // namespace stitch

template <int M, int N, int K, class T, class ALayout, class BLayout, class DT, class CT>
inline void mma_sync(fragment<accumulator, M, N, K, DT>& d, const fragment<matrix_a, M, N, K, T, ALayout>& a,
                     const fragment<matrix_b, M, N, K, T, BLayout>& b,
                     const fragment<accumulator, M, N, K, CT>& c, bool = false,
                     unsigned line = __builtin_LINE()) {
  using D = fragment<accumulator, M, N, K, DT>;
  using A = fragment<matrix_a, M, N, K, T, ALayout>;
  using B = fragment<matrix_b, M, N, K, T, BLayout>;
  using C = fragment<accumulator, M, N, K, CT>;
  stitch::Product<D, A, B, C> mine{&d, &a, &b, &c};
  stitch_emulated::exchange_with(0xffffffffu, &mine, &stitch::multiply<M, N, K, T, D, A, B, C>, "mma_sync",
                                 line);
}

inline float __float_to_tf32(float x) { return ::__float_to_tf32(x); }

}  // namespace nvcuda::wmma
