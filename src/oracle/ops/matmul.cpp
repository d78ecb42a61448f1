// linear and matmul.
#include "oracle/blas.h"
#include "oracle/call.h"
#include "oracle/ops/product.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

void multiply_integers(const Tensor& a, const Tensor& b, Tensor& out, int64_t count, int64_t m, int64_t n,
                       int64_t k, bool transpose_b, const std::function<Starts(int64_t)>& starts) {
  const int64_t *left = a.data<int64_t>(), *right = b.data<int64_t>();
  int64_t* y = out.writable<int64_t>();
  int64_t step = transpose_b ? 1 : n, column_step = transpose_b ? k : 1;
  parallel_for(count * m, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      Starts at = starts(row / m);
      const int64_t* from = left + at.a + row % m * k;
      for (int64_t j = 0; j < n; ++j) {
        uint64_t sum = 0;
        for (int64_t i = 0; i < k; ++i)
          sum += static_cast<uint64_t>(from[i]) *
                 static_cast<uint64_t>(right[at.b + i * step + j * column_step]);
        y[row * n + j] = wrapped(static_cast<int64_t>(sum), out.dtype());
      }
    }
  });
}

}  // namespace

void multiply_matrices(const Tensor& a, const Tensor& b, Tensor& out, int64_t count, int64_t m, int64_t n,
                       int64_t k, bool transpose_b, const std::function<Starts(int64_t)>& starts) {
  if (!out.floating()) return multiply_integers(a, b, out, count, m, n, k, transpose_b, starts);
  Gemm shape{.m = m, .n = n, .k = k, .transpose_b = transpose_b};
  shape.stride_a = k;
  shape.stride_b = transpose_b ? k : n;
  shape.stride_c = n;
  const double *left = a.data<double>(), *right = b.data<double>();
  double* y = out.writable<double>();
  batched_gemm(shape, count, [&](int64_t i) {
    Starts at = starts(i);
    return GemmOperands{left + at.a, right + at.b, y + i * m * n};
  });
}

Outcome evaluate_linear(const Call& call) {
  const Tensor &x = call.in(0), &weight = call.in(1);
  Tensor out = call.result();
  int64_t n = weight.shape()[0], k = weight.shape()[1], m = n ? out.elements() / n : 0;
  multiply_matrices(x, weight, out, 1, m, n, k, true, [](int64_t) { return Starts{0, 0}; });
  if (!call.has(2)) return one(std::move(out));
  with_element(out.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* bias = call.in(2).data<T>();
    T* y = out.writable<T>();
    parallel_for(m, std::max<int64_t>(1, 8192 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * n; i < end * n; ++i) {
        if constexpr (std::is_same_v<T, double>)
          y[i] += bias[i % n];
        else
          y[i] =
              wrapped(static_cast<int64_t>(static_cast<uint64_t>(y[i]) + static_cast<uint64_t>(bias[i % n])),
                      out.dtype());
      }
    });
  });
  return one(std::move(out));
}

Outcome evaluate_matmul(const Call& call) {
  const Tensor &a = call.in(0), &b = call.in(1);
  Tensor out = call.result();
  int64_t m = a.shape()[a.shape().size() - 2], k = a.shape().back(), n = b.shape().back();
  if (out.elements() == 0) return one(std::move(out));
  // One right-hand matrix for the whole batch: one tall product.
  if (b.elements() == k * n && a.elements() / std::max<int64_t>(k, 1) * n == out.elements()) {
    multiply_matrices(a, b, out, 1, out.elements() / n, n, k, false, [](int64_t) { return Starts{0, 0}; });
    return one(std::move(out));
  }
  Shape batch(out.shape().begin(), out.shape().end() - 2);
  std::vector<int64_t> a_strides = broadcast_strides({a.shape().begin(), a.shape().end() - 2}, batch);
  std::vector<int64_t> b_strides = broadcast_strides({b.shape().begin(), b.shape().end() - 2}, batch);
  auto starts = [&](int64_t i) {
    Starts at{0, 0};
    for (size_t d = batch.size(); d-- > 0; i /= batch[d]) {
      at.a += i % batch[d] * a_strides[d] * m * k;
      at.b += i % batch[d] * b_strides[d] * k * n;
    }
    return at;
  };
  multiply_matrices(a, b, out, element_count(batch), m, n, k, false, starts);
  return one(std::move(out));
}

// grouped_matmul: every row times the matrix of its group.

Outcome evaluate_grouped_matmul(const Call& call) {
  const Tensor &x = call.in(0), &weight = call.in(1), &offsets = call.in(2);
  Tensor out = call.result();
  int64_t depth = x.shape()[1], groups = weight.shape()[0], width = weight.shape()[2];
  const double *from = x.data<double>(), *matrices = weight.data<double>();
  const int64_t* ends = offsets.data<int64_t>();
  for (int64_t g = 0; g < groups; ++g)
    if (ends[g] < 0 || ends[g] > x.shape()[0] || (g > 0 && ends[g] < ends[g - 1]))
      return user_error("out_of_range",
                        format("group {} ends before row {} of {}", g, ends[g], x.shape()[0]));
  double* y = out.writable<double>();
  parallel_for(x.shape()[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      double* to = y + row * width;
      std::fill_n(to, width, 0.0);
      int64_t group = std::upper_bound(ends, ends + groups, row) - ends;
      if (group == groups) continue;
      const double* matrix = matrices + group * depth * width;
      for (int64_t k = 0; k < depth; ++k) {
        double value = from[row * depth + k];
        for (int64_t j = 0; j < width; ++j) to[j] += value * matrix[k * width + j];
      }
    }
  });
  return one(std::move(out));
}

}  // namespace stitch::oracle
