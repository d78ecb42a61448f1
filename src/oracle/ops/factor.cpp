// Factorisations: LU, Cholesky, QR, and triangular systems. Matrices of a batch run in parallel.
#include <cmath>

#include "oracle/call.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

// The number of matrices of rows x columns in a tensor.
int64_t matrices_of(const Tensor& x) {
  Shape lead(x.shape().begin(), x.shape().end() - 2);
  return element_count(lead);
}

void factor_lu(double* a, int64_t* pivots, int64_t* rows, int64_t n) {
  for (int64_t i = 0; i < n; ++i) rows[i] = i;
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[best * n + k])) best = i;
    pivots[k] = best;
    if (best != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
      std::swap(rows[k], rows[best]);
    }
    if (a[k * n + k] == 0) continue;  // singular: the column is zero already
    for (int64_t i = k + 1; i < n; ++i) {
      double share = a[i * n + k] /= a[k * n + k];
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= share * a[k * n + j];
    }
  }
}

void factor_cholesky(double* a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t k = 0; k < j; ++k)
      for (int64_t i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    double root = std::sqrt(a[j * n + j]);
    for (int64_t i = j; i < n; ++i) a[i * n + j] /= root;
    std::fill_n(a + j * n + j + 1, n - j - 1, 0.0);
  }
}

// a (rows x columns) becomes R in its upper triangle; q (rows x rows) the product of the reflections.
void factor_qr(std::vector<double>& a, std::vector<double>& q, int64_t rows, int64_t columns) {
  std::fill(q.begin(), q.end(), 0.0);
  for (int64_t i = 0; i < rows; ++i) q[static_cast<size_t>(i * rows + i)] = 1;
  std::vector<double> v(static_cast<size_t>(rows));
  auto at = [](std::vector<double>& m, int64_t width, int64_t i, int64_t j) -> double& {
    return m[static_cast<size_t>(i * width + j)];
  };
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    double below = 0, head = at(a, columns, k, k);
    for (int64_t i = k + 1; i < rows; ++i) below = std::hypot(below, at(a, columns, i, k));
    if (below == 0) continue;
    double beta = -std::copysign(std::hypot(head, below), head), tau = (beta - head) / beta;
    v[static_cast<size_t>(k)] = 1;
    for (int64_t i = k + 1; i < rows; ++i) v[static_cast<size_t>(i)] = at(a, columns, i, k) / (head - beta);
    auto reflect = [&](std::vector<double>& m, int64_t width, int64_t j, bool from_right) {
      double sum = 0;
      for (int64_t i = k; i < rows; ++i)
        sum += v[static_cast<size_t>(i)] * (from_right ? at(m, width, j, i) : at(m, width, i, j));
      for (int64_t i = k; i < rows; ++i)
        (from_right ? at(m, width, j, i) : at(m, width, i, j)) -= tau * sum * v[static_cast<size_t>(i)];
    };
    for (int64_t j = k; j < columns; ++j) reflect(a, columns, j, false);
    for (int64_t i = 0; i < rows; ++i) reflect(q, rows, i, true);
    for (int64_t i = k + 1; i < rows; ++i) at(a, columns, i, k) = 0;
  }
}

}  // namespace

Outcome evaluate_lu(const Call& call) {
  Tensor out = call.in().copy(), pivots = call.result(1), rows = call.result(2);
  int64_t n = out.shape().back();
  double* a = out.writable<double>();
  int64_t *p = pivots.writable<int64_t>(), *r = rows.writable<int64_t>();
  parallel_for(matrices_of(out), 1, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) factor_lu(a + m * n * n, p + m * n, r + m * n, n);
  });
  std::vector<Tensor> results;
  results.push_back(std::move(out));
  results.push_back(std::move(pivots));
  results.push_back(std::move(rows));
  return results;
}

Outcome evaluate_cholesky(const Call& call) {
  Tensor out = call.in().copy();
  int64_t n = out.shape().back();
  double* a = out.writable<double>();
  parallel_for(matrices_of(out), 1, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) factor_cholesky(a + m * n * n, n);
  });
  return one(std::move(out));
}

Outcome evaluate_qr(const Call& call) {
  Tensor q = call.result(0), r = call.result(1);
  const Shape& shape = call.in().shape();
  int64_t rows = shape[shape.size() - 2], columns = shape.back(), kept = q.shape().back();
  const double* x = call.in().data<double>();
  double *left = q.writable<double>(), *right = r.writable<double>();
  parallel_for(matrices_of(call.in()), 1, [&](int64_t begin, int64_t end) {
    std::vector<double> a(static_cast<size_t>(rows * columns)), whole(static_cast<size_t>(rows * rows));
    for (int64_t m = begin; m < end; ++m) {
      std::copy_n(x + m * rows * columns, rows * columns, a.begin());
      factor_qr(a, whole, rows, columns);
      for (int64_t i = 0; i < rows; ++i)
        std::copy_n(whole.begin() + i * rows, kept, left + (m * rows + i) * kept);
      for (int64_t i = 0; i < kept; ++i)
        for (int64_t j = 0; j < columns; ++j)
          right[(m * kept + i) * columns + j] = j < i ? 0 : a[static_cast<size_t>(i * columns + j)];
    }
  });
  return two(std::move(q), std::move(r));
}

Outcome evaluate_triangular_solve(const Call& call) {
  Tensor out = call.in(1).copy();
  const double* a = call.in(0).data<double>();
  double* x = out.writable<double>();
  int64_t n = call.in(0).shape().back(), columns = out.shape().back();
  bool upper = call.attributes().flag("upper"), unit = call.attributes().flag("unit");
  parallel_for(matrices_of(out) * columns, 16, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const double* matrix = a + c / columns * n * n;
      double* column = x + c / columns * n * columns + c % columns;
      for (int64_t step = 0; step < n; ++step) {
        int64_t i = upper ? n - 1 - step : step;
        double value = column[i * columns];
        for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); ++k)
          value -= matrix[i * n + k] * column[k * columns];
        column[i * columns] = unit ? value : value / matrix[i * n + i];
      }
    }
  });
  return one(std::move(out));
}

}  // namespace stitch::oracle
