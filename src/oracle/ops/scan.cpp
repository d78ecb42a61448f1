// Running sums, products and extremes along one dimension.
#include <cmath>

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

}  // namespace stitch::oracle
