// Reductions over named dimensions; an empty list means all of them.
#include <cmath>
#include <limits>

#include "oracle/call.h"
#include "oracle/ops/product.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

Rows reduced_rows(const Call& call) {
  const Tensor& x = call.in();
  const auto& dims = call.attributes().integers("dims");
  std::vector<bool> along(x.shape().size(), dims.empty());
  for (int64_t dim : dims)
    if (x.rank()) along[static_cast<size_t>(from_start(dim, x.rank()))] = true;
  return Rows(x.shape(), along);
}

// One result element from each row: function(row, length).
template <class To, class From, class Function>
Outcome reduce(const Call& call, Function function) {
  Tensor out = call.result();
  Rows rows = reduced_rows(call);
  const From* x = call.in().data<From>();
  To* y = out.writable<To>();
  parallel_for(rows.count(), rows.grain(), [&](int64_t begin, int64_t end) {
    std::vector<From> space;
    for (int64_t row = begin; row < end; ++row) y[row] = function(rows.read(x, row, space), rows.length());
  });
  return one(std::move(out));
}

template <class Function>
Outcome rows_of_numbers(const Call& call, Function function) {
  return reduce<double, double>(call, function);
}

template <class Function>
Outcome rows_of_integers(const Call& call, Function function) {
  DType dtype = call.type().dtype;
  return reduce<int64_t, int64_t>(call, [=](const int64_t* row, int64_t count) {
    return wrapped(static_cast<int64_t>(function(row, count)), dtype);
  });
}

// The index of the extreme: the first of equals; the first NaN takes precedence.
template <bool largest, class T>
int64_t extreme_position(const T* row, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (row[i] != row[i]) return i;
    if (largest ? row[i] > row[best] : row[i] < row[best]) best = i;
  }
  return best;
}

template <bool largest, class T>
T extreme(const T* row, int64_t count) {
  return row[extreme_position<largest>(row, count)];
}

double log_sum_exp(const double* row, int64_t count) {
  if (count == 0) return -no_limit;
  double most = extreme<true>(row, count);
  double shift = std::isinf(most) ? 0 : most;  // inf - inf would be NaN
  return std::log(sum_of(count, [=](int64_t i) { return std::exp(row[i] - shift); })) + shift;
}

double variance(const double* row, int64_t count, double correction) {
  double mean = sum_of(count, [=](int64_t i) { return row[i]; }) / static_cast<double>(count);
  double squares = sum_of(count, [=](int64_t i) { return (row[i] - mean) * (row[i] - mean); });
  return squares / std::max(static_cast<double>(count) - correction, 0.0);
}

Outcome norm(const Call& call) {
  double order = call.attributes().number("order");
  if (order == 0)
    return rows_of_numbers(call, [](const double* row, int64_t count) {
      return sum_of(count, [=](int64_t i) { return row[i] != 0 ? 1.0 : 0.0; });
    });
  if ((order < 0 || order == no_limit) && call.type().elements() > 0 && call.in().elements() == 0)
    return user_error("empty", format("the norm of order {} of no elements", order));
  if (std::isinf(order))
    return rows_of_numbers(call, [=](const double* row, int64_t count) {
      double best = std::fabs(row[0]);
      for (int64_t i = 1; i < count && !std::isnan(best); ++i) {
        double size = std::fabs(row[i]);
        if (std::isnan(size) || (order > 0 ? size > best : size < best)) best = size;
      }
      return best;
    });
  if (order == 1)
    return rows_of_numbers(call, [](const double* row, int64_t count) {
      return sum_of(count, [=](int64_t i) { return std::fabs(row[i]); });
    });
  if (order == 2)
    return rows_of_numbers(call, [](const double* row, int64_t count) {
      return std::sqrt(sum_of(count, [=](int64_t i) { return row[i] * row[i]; }));
    });
  return rows_of_numbers(call, [=](const double* row, int64_t count) {
    return std::pow(sum_of(count, [=](int64_t i) { return std::pow(std::fabs(row[i]), order); }), 1 / order);
  });
}

Outcome reduce_integers(const Call& call) {
  switch (call.op()) {
    case Op::sum:
      return rows_of_integers(call, [](const int64_t* row, int64_t count) {
        uint64_t sum = 0;
        for (int64_t i = 0; i < count; ++i) sum += static_cast<uint64_t>(row[i]);
        return sum;
      });
    case Op::prod:
      return rows_of_integers(call, [](const int64_t* row, int64_t count) {
        uint64_t product = 1;
        for (int64_t i = 0; i < count; ++i) product *= static_cast<uint64_t>(row[i]);
        return product;
      });
    case Op::amax: return rows_of_integers(call, extreme<true, int64_t>);
    case Op::amin: return rows_of_integers(call, extreme<false, int64_t>);
    case Op::any:
      return rows_of_integers(call, [](const int64_t* row, int64_t count) {
        return std::any_of(row, row + count, [](int64_t x) { return x != 0; });
      });
    case Op::all:
      return rows_of_integers(call, [](const int64_t* row, int64_t count) {
        return std::all_of(row, row + count, [](int64_t x) { return x != 0; });
      });
    default: throw Bug("an op that takes no integers");
  }
}

}  // namespace

Outcome evaluate_reduction(const Call& call) {
  if (!call.in().floating()) return reduce_integers(call);
  switch (call.op()) {
    case Op::sum:
      return rows_of_numbers(call, [](const double* row, int64_t count) {
        return sum_of(count, [=](int64_t i) { return row[i]; });
      });
    case Op::mean:
      return rows_of_numbers(call, [](const double* row, int64_t count) {
        return sum_of(count, [=](int64_t i) { return row[i]; }) / static_cast<double>(count);
      });
    case Op::prod:
      return rows_of_numbers(call, [](const double* row, int64_t count) {
        double product = 1;
        for (int64_t i = 0; i < count; ++i) product *= row[i];
        return product;
      });
    case Op::amax: return rows_of_numbers(call, extreme<true, double>);
    case Op::amin: return rows_of_numbers(call, extreme<false, double>);
    case Op::logsumexp: return rows_of_numbers(call, log_sum_exp);
    case Op::norm: return norm(call);
    case Op::var: {
      double correction = call.attributes().number("correction");
      return rows_of_numbers(
          call, [=](const double* row, int64_t count) { return variance(row, count, correction); });
    }
    default: throw Bug("an op that takes no floats");
  }
}

Outcome evaluate_position(const Call& call) {
  return with_element(call.in().dtype(), [&](auto element) {
    using T = decltype(element);
    return call.op() == Op::argmax ? reduce<int64_t, T>(call, extreme_position<true, T>)
                                   : reduce<int64_t, T>(call, extreme_position<false, T>);
  });
}

}  // namespace stitch::oracle
