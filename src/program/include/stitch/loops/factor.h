// Matrix factorisations, one matrix per block, in memory used by that block alone. Row-major.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace stitch {

// LU factors of a (n, n) in place, with partial pivoting: row pivots[k] was swapped with row k, and rows[i]
// is the origin of row i.
template <class T>
__device__ void lu_block(T* a, int64_t* pivots, int64_t* rows, int n) {
  const int lane = static_cast<int>(threadIdx.x), lanes = static_cast<int>(blockDim.x);
  for (int i = lane; i < n; i += lanes) rows[i] = i;
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    if (lane == 0) {
      int best = k;
      for (int i = k + 1; i < n; ++i)
        if (fabs(a[int64_t(i) * n + k]) > fabs(a[int64_t(best) * n + k])) best = i;
      pivots[k] = best;
      int64_t row = rows[k];
      rows[k] = rows[best];
      rows[best] = row;
    }
    __syncthreads();
    T* own = a + int64_t(k) * n;
    T* other = a + pivots[k] * n;
    for (int j = lane; j < n && own != other; j += lanes) {
      T x = own[j];
      own[j] = other[j];
      other[j] = x;
    }
    __syncthreads();
    const T head = own[k];
    if (head == T(0)) continue;  // singular: the column is zero already
    for (int i = k + 1 + lane; i < n; i += lanes) {
      T* row = a + int64_t(i) * n;
      const T share = row[k] / head;
      row[k] = share;
      for (int j = k + 1; j < n; ++j) row[j] -= share * own[j];
    }
  }
  __syncthreads();
}

// a (n, n) becomes L, with 0 above its diagonal; NaN where it is not positive definite.
template <class T>
__device__ void cholesky_block(T* a, int n) {
  const int lane = static_cast<int>(threadIdx.x), lanes = static_cast<int>(blockDim.x);
  for (int j = 0; j < n; ++j) {
    __syncthreads();
    for (int i = j + lane; i < n; i += lanes) {
      T sum = a[int64_t(i) * n + j];
      for (int k = 0; k < j; ++k) sum -= a[int64_t(i) * n + k] * a[int64_t(j) * n + k];
      a[int64_t(i) * n + j] = sum;
    }
    __syncthreads();
    const T root = sqrt(a[int64_t(j) * n + j]);
    __syncthreads();
    for (int i = j + lane; i < n; i += lanes)
      a[int64_t(i) * n + j] = i == j ? root : a[int64_t(i) * n + j] / root;
  }
  __syncthreads();
  for (int64_t e = lane; e < int64_t(n) * n; e += lanes)
    if (e % n > e / n) a[e] = T(0);
  __syncthreads();
}

// a (rows, columns) becomes R, q (rows, rows) the product of the reflections; v: memory for a column.
template <class T>
__device__ void qr_block(T* a, T* q, T* v, int rows, int columns) {
  const int lane = static_cast<int>(threadIdx.x), lanes = static_cast<int>(blockDim.x);
  for (int64_t e = lane; e < int64_t(rows) * rows; e += lanes) q[e] = e / rows == e % rows ? T(1) : T(0);
  for (int k = 0; k < rows && k < columns; ++k) {
    __syncthreads();
    T below = T(0);  // the same sum in the same order in every thread
    for (int i = k + 1; i < rows; ++i) below = hypot(below, a[int64_t(i) * columns + k]);
    if (below == T(0)) continue;
    const T head = a[int64_t(k) * columns + k], size = hypot(head, below);
    const T beta = signbit(head) ? size : -size, tau = (beta - head) / beta;
    for (int i = k + lane; i < rows; i += lanes)
      v[i] = i == k ? T(1) : a[int64_t(i) * columns + k] / (head - beta);
    __syncthreads();
    for (int j = k + lane; j < columns; j += lanes) {
      T sum = T(0);
      for (int i = k; i < rows; ++i) sum += v[i] * a[int64_t(i) * columns + j];
      for (int i = k; i < rows; ++i) a[int64_t(i) * columns + j] -= tau * sum * v[i];
    }
    for (int i = lane; i < rows; i += lanes) {
      T* row = q + int64_t(i) * rows;
      T sum = T(0);
      for (int j = k; j < rows; ++j) sum += v[j] * row[j];
      for (int j = k; j < rows; ++j) row[j] -= tau * sum * v[j];
    }
  }
  __syncthreads();
  for (int64_t e = lane; e < int64_t(rows) * columns; e += lanes)
    if (e % columns < e / columns) a[e] = T(0);
  __syncthreads();
}

// b (n, columns) becomes x with a x = b; one thread per column.
template <class T>
__device__ void triangular_block(const T* a, T* b, int n, int columns, bool upper, bool unit) {
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < columns; c += static_cast<int>(blockDim.x))
    for (int step = 0; step < n; ++step) {
      const int i = upper ? n - 1 - step : step;
      T value = b[int64_t(i) * columns + c];
      for (int k = upper ? i + 1 : 0; k < (upper ? n : i); ++k)
        value -= a[int64_t(i) * n + k] * b[int64_t(k) * columns + c];
      b[int64_t(i) * columns + c] = unit ? value : value / a[int64_t(i) * n + i];
    }
  __syncthreads();
}

}  // namespace stitch
