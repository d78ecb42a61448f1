// Running sums, products and extremes along one dimension.
#include <cmath>
#include <numeric>

#include "oracle/call.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

// Each element becomes step(the one before, itself); the first stays.
template <class T, class Step>
Outcome scan(const Call& call, Step step) {
  Tensor out = call.result();
  Rows rows = Rows::along(call.in().shape(), call.dimension("dim"));
  const T* x = call.in().data<T>();
  T* y = out.writable<T>();
  parallel_for(rows.count(), rows.grain(), [&](int64_t begin, int64_t end) {
    std::vector<T> space, running(static_cast<size_t>(rows.length()));
    for (int64_t r = begin; r < end; ++r) {
      const T* row = rows.read(x, r, space);
      for (size_t i = 0; i < running.size(); ++i) running[i] = i ? step(running[i - 1], row[i]) : row[i];
      rows.write(running, y, r);
    }
  });
  return one(std::move(out));
}

double log_add_exp(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  double less = std::min(a, b), more = std::max(a, b);
  if (less == more && std::isinf(less)) return less;  // inf - inf would be NaN
  return more + std::log1p(std::exp(less - more));
}

// Of equal extremes the latest wins; NaN beats everything before it.
template <class T>
Outcome extremes(const Call& call) {
  bool largest = call.op() == Op::cummax;
  Tensor values = call.result(0), positions = call.result(1);
  Rows rows = Rows::along(call.in().shape(), call.dimension("dim"));
  const T* x = call.in().data<T>();
  T* y = values.writable<T>();
  int64_t* p = positions.writable<int64_t>();
  parallel_for(rows.count(), rows.grain(), [&](int64_t begin, int64_t end) {
    size_t length = static_cast<size_t>(rows.length());
    std::vector<T> space, best(length);
    std::vector<int64_t> from(length);
    for (int64_t r = begin; r < end; ++r) {
      const T* row = rows.read(x, r, space);
      for (size_t i = 0; i < length; ++i) {
        bool nan = row[i] != row[i];
        bool wins = i == 0 || nan || (largest ? row[i] >= best[i - 1] : row[i] <= best[i - 1]);
        best[i] = wins ? row[i] : best[i - 1];
        from[i] = wins ? static_cast<int64_t>(i) : from[i - 1];
      }
      rows.write(best, y, r);
      rows.write(from, p, r);
    }
  });
  return two(std::move(values), std::move(positions));
}

}  // namespace

Outcome evaluate_scan(const Call& call) {
  DType dtype = call.type().dtype;
  auto wrap = [dtype](uint64_t value) { return wrapped(static_cast<int64_t>(value), dtype); };
  bool floating = call.in().floating();
  switch (call.op()) {
    case Op::cumsum:
      if (floating) return scan<double>(call, [](double a, double b) { return a + b; });
      return scan<int64_t>(call, [=](uint64_t a, uint64_t b) { return wrap(a + b); });
    case Op::cumprod:
      if (floating) return scan<double>(call, [](double a, double b) { return a * b; });
      return scan<int64_t>(call, [=](uint64_t a, uint64_t b) { return wrap(a * b); });
    case Op::logcumsumexp: return scan<double>(call, log_add_exp);
    default: throw Bug("no scan");
  }
}

Outcome evaluate_extreme_scan(const Call& call) {
  return with_element(call.in().dtype(), [&](auto element) { return extremes<decltype(element)>(call); });
}

// sort, topk and searchsorted. NaN is larger than everything; sorts are stable.

namespace {

template <class T>
bool less(T a, T b) {
  bool a_nan = a != a, b_nan = b != b;
  return !a_nan && (b_nan || a < b);
}

// The first `keep` of each row in order, and their indices.
template <class T>
Outcome ordered(const Call& call, int64_t keep, bool descending) {
  Tensor values = call.result(0), positions = call.result(1);
  int64_t dim = call.dimension("dim");
  Rows rows = Rows::along(call.in().shape(), dim), kept = Rows::along(values.shape(), dim);
  const T* x = call.in().data<T>();
  T* y = values.writable<T>();
  int64_t* p = positions.writable<int64_t>();
  parallel_for(keep ? rows.count() : 0, rows.grain(), [&](int64_t begin, int64_t end) {
    std::vector<T> space, best(static_cast<size_t>(keep));
    std::vector<int64_t> order(static_cast<size_t>(rows.length()));
    for (int64_t r = begin; r < end; ++r) {
      const T* row = rows.read(x, r, space);
      std::iota(order.begin(), order.end(), 0);
      // Ties are broken by position, so that any sort is stable.
      std::partial_sort(order.begin(), order.begin() + keep, order.end(), [&](int64_t a, int64_t b) {
        if (descending ? less(row[b], row[a]) : less(row[a], row[b])) return true;
        if (descending ? less(row[a], row[b]) : less(row[b], row[a])) return false;
        return a < b;
      });
      for (size_t i = 0; i < best.size(); ++i) best[i] = row[order[i]];
      kept.write(best, y, r);
      kept.write(order, p, r);
    }
  });
  return two(std::move(values), std::move(positions));
}

}  // namespace

Outcome evaluate_sort(const Call& call) {
  const Shape& shape = call.in().shape();
  int64_t length = shape.empty() ? 1 : shape[static_cast<size_t>(call.dimension("dim"))];
  bool descending = call.attributes().flag("descending");
  return with_element(call.in().dtype(),
                      [&](auto element) { return ordered<decltype(element)>(call, length, descending); });
}

Outcome evaluate_topk(const Call& call) {
  int64_t k = call.attributes().integer("k");
  // A tensor of rank 0 keeps its one element for any k.
  if (call.in().rank() == 0) k = 1;
  bool largest = call.attributes().flag("largest");
  return with_element(call.in().dtype(),
                      [&](auto element) { return ordered<decltype(element)>(call, k, largest); });
}

Outcome evaluate_searchsorted(const Call& call) {
  const Tensor &sorted = call.in(0), &values = call.in(1);
  bool right = call.attributes().flag("right"), shared = sorted.rank() == 1;
  Tensor out = call.result();
  int64_t length = sorted.shape().back(), width = shared ? out.elements() : out.shape().back();
  int64_t* y = out.writable<int64_t>();
  with_element(sorted.dtype(), [&](auto element) {
    using T = decltype(element);
    const T *rows = sorted.data<T>(), *x = values.data<T>();
    parallel_for(out.elements(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = rows + (shared ? 0 : i / width * length);
        // The first element not before the value; comparisons with NaN count as "before".
        y[i] = std::partition_point(row, row + length,
                                    [&](T each) { return right ? !(each > x[i]) : !(each >= x[i]); }) -
               row;
      }
    });
  });
  return one(std::move(out));
}

}  // namespace stitch::oracle
