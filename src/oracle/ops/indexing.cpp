// Gather, scatter and index. Indices are checked before anything is moved.
#include <cmath>
#include <optional>

#include "oracle/call.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

Error out_of_range(int64_t position, int64_t dim, int64_t size) {
  return user_error("out_of_range",
                    format("the index {} is out of range for dimension {} of size {}", position, dim, size));
}

// gather and scatter take no negative indices.
Result<void> check_positions(const Tensor& index, int64_t dim, int64_t size) {
  const int64_t* positions = index.data<int64_t>();
  for (int64_t i = 0; i < index.elements(); ++i)
    if (positions[i] < 0 || positions[i] >= size) return out_of_range(positions[i], dim, size);
  return {};
}

// Walks the index's positions through x without dim's stride, which the index itself supplies.
struct Along {
  int64_t dim, size = 1, stride = 1;
  std::vector<int64_t> strides;

  Along(const Call& call) : dim(call.dimension("dim")), strides(contiguous_strides(call.in().shape())) {
    if (strides.empty()) return;
    size = call.in().shape()[static_cast<size_t>(dim)];
    stride = std::exchange(strides[static_cast<size_t>(dim)], 0);
  }
};

template <class T>
T reduced(const std::string& reduce, T old, T value, DType dtype) {
  if constexpr (std::is_same_v<T, double>) {
    if (reduce == "sum" || reduce == "mean") return old + value;
    if (reduce == "prod") return old * value;
    if (std::isnan(old) || std::isnan(value)) return old + value;
  } else {
    if (reduce == "sum" || reduce == "mean")
      return wrapped(static_cast<int64_t>(static_cast<uint64_t>(old) + static_cast<uint64_t>(value)), dtype);
    if (reduce == "prod")
      return wrapped(static_cast<int64_t>(static_cast<uint64_t>(old) * static_cast<uint64_t>(value)), dtype);
  }
  return reduce == "amax" ? std::max(old, value) : std::min(old, value);
}

template <class T>
T mean_of(T sum, int64_t count) {
  if constexpr (std::is_same_v<T, double>)
    return sum / static_cast<double>(count);
  else
    return sum / count - (sum % count < 0);  // rounded down
}

template <class T>
void scatter(const Call& call, const Along& along, Tensor& out) {
  const Tensor &index = call.in(1), &source = call.in(2);
  const std::string& reduce = call.attributes().text("reduce");
  bool overwrites = reduce == "none", include_self = call.attributes().flag("include_self");
  const int64_t* positions = index.data<int64_t>();
  const T* from = source.data<T>();
  T* y = out.writable<T>();
  std::vector<int64_t> counts(overwrites ? 0 : static_cast<size_t>(out.elements()), 0);
  Walk<2> walk{index.shape(), {along.strides, contiguous_strides(source.shape())}};
  walk_in_order(walk, [&](int64_t first, Places<2> at, Places<2> step, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t to = at[0] + i * step[0] + positions[first + i] * along.stride;
      T value = from[at[1] + i * step[1]];
      bool fresh = overwrites || (counts[static_cast<size_t>(to)]++ == 0 && !include_self);
      y[to] = fresh ? value : reduced(reduce, y[to], value, out.dtype());
    }
  });
  if (reduce != "mean") return;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i]) y[i] = mean_of(y[i], counts[i] + include_self);
}

// Shared by index and index_put: the place of x's element for every position of the indexed shape. x_strides
// cover the dimensions that aren't indexed, `places` (through place_strides) the rest.
struct Indexed {
  Shape shape;
  std::vector<int64_t> x_strides, place_strides, places;
};

Result<Indexed> indexed(const Call& call, size_t first_index) {
  const Shape& x = call.in().shape();
  const auto& dims = call.attributes().integers("dims");
  std::vector<int64_t> strides = contiguous_strides(x);
  Shape common;
  for (size_t i = 0; i < dims.size(); ++i) {
    STITCH_TRY(common, broadcast(common, call.in(first_index + i).shape()));
  }
  Indexed out;
  out.places.assign(static_cast<size_t>(element_count(common)), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t dim = static_cast<size_t>(dims[i]);
    const Tensor& index = call.in(first_index + i);
    const int64_t* positions = index.data<int64_t>();
    std::optional<int64_t> wrong;
    walk_in_order(Walk<1>{common, {broadcast_strides(index.shape(), common)}},
                  [&](int64_t first, Places<1> at, Places<1> step, int64_t count) {
                    for (int64_t k = 0; k < count; ++k) {
                      int64_t position = positions[at[0] + k * step[0]];
                      if (position < -x[dim] || position >= x[dim]) {
                        wrong = position;
                        return;
                      }
                      if (position < 0) position += x[dim];
                      out.places[static_cast<size_t>(first + k)] += position * strides[dim];
                    }
                  });
    if (wrong) return out_of_range(*wrong, dims[i], x[dim]);
  }
  std::vector<int64_t> common_strides = contiguous_strides(common);
  auto place_common = [&] {
    out.shape.insert(out.shape.end(), common.begin(), common.end());
    out.x_strides.insert(out.x_strides.end(), common.size(), 0);
    out.place_strides.insert(out.place_strides.end(), common_strides.begin(), common_strides.end());
  };
  bool neighbours = dims.back() - dims.front() + 1 == std::ssize(dims);
  if (!neighbours) place_common();
  for (int64_t d = 0; d < std::ssize(x); ++d) {
    if (neighbours && d == dims.front()) place_common();
    if (std::ranges::find(dims, d) != dims.end()) continue;
    out.shape.push_back(x[static_cast<size_t>(d)]);
    out.x_strides.push_back(strides[static_cast<size_t>(d)]);
    out.place_strides.push_back(0);
  }
  return out;
}

}  // namespace

Outcome evaluate_gather(const Call& call) {
  const Tensor &x = call.in(0), &index = call.in(1);
  Along along(call);
  STITCH_CHECK(check_positions(index, along.dim, along.size));
  Tensor out = call.result();
  if (out.elements() == 0) return one(std::move(out));
  const int64_t* positions = index.data<int64_t>();
  with_element(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* from = x.data<T>();
    T* y = out.writable<T>();
    walk_all(Walk<1>{index.shape(), {along.strides}},
             [&](int64_t first, Places<1> at, Places<1> step, int64_t count) {
               for (int64_t i = 0; i < count; ++i)
                 y[first + i] = from[at[0] + i * step[0] + positions[first + i] * along.stride];
             });
  });
  return one(std::move(out));
}

Outcome evaluate_scatter(const Call& call) {
  Along along(call);
  STITCH_CHECK(check_positions(call.in(1), along.dim, along.size));
  Tensor out = call.in(0).copy();
  if (call.in(1).elements() == 0) return one(std::move(out));
  with_element(out.dtype(), [&](auto element) { scatter<decltype(element)>(call, along, out); });
  return one(std::move(out));
}

Outcome evaluate_index(const Call& call) {
  STITCH_TRY(Indexed where, indexed(call, 1));
  Tensor out = call.result();
  with_element(out.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* x = call.in().data<T>();
    T* y = out.writable<T>();
    const int64_t* places = where.places.data();
    walk_all(Walk<2>{where.shape, {where.x_strides, where.place_strides}},
             [=](int64_t first, Places<2> at, Places<2> step, int64_t count) {
               for (int64_t i = 0; i < count; ++i)
                 y[first + i] = x[at[0] + i * step[0] + places[at[1] + i * step[1]]];
             });
  });
  return one(std::move(out));
}

Outcome evaluate_index_put(const Call& call) {
  STITCH_TRY(Indexed where, indexed(call, 2));
  const Tensor& values = call.in(1);
  bool accumulate = call.attributes().flag("accumulate");
  Tensor out = call.in(0).copy();
  with_element(out.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* from = values.data<T>();
    T* y = out.writable<T>();
    Walk<3> walk{where.shape,
                 {where.x_strides, where.place_strides, broadcast_strides(values.shape(), where.shape)}};
    walk_in_order(walk, [&](int64_t, Places<3> at, Places<3> step, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        T& to = y[at[0] + i * step[0] + where.places[static_cast<size_t>(at[1] + i * step[1])]];
        T value = from[at[2] + i * step[2]];
        to = accumulate ? reduced<T>("sum", to, value, out.dtype()) : value;
      }
    });
  });
  return one(std::move(out));
}

}  // namespace stitch::oracle
