// Two ways through a tensor: all index positions of several strided operands at once, and rows along
// some dimensions. Everything that isn't a matrix product is written with one of them.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/machine/parallel.h"
#include "graph/type.h"

namespace stitch::oracle {

// The positions of `shape`; operand n's element at position p is starts[n] + p . strides[n].
template <size_t N>
struct Walk {
  Shape shape;
  std::array<std::vector<int64_t>, N> strides;
  std::array<int64_t, N> starts{};
};

// Strides of a tensor seen under a shape that it broadcasts to.
inline std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  std::vector<int64_t> own = contiguous_strides(from), out(to.size(), 0);
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) out[to.size() - from.size() + i] = own[i];
  return out;
}

// Joins neighbouring dimensions that every operand walks through evenly: longer rows, same order.
template <size_t N>
Walk<N> joined(const Walk<N>& walk) {
  Walk<N> out;
  out.starts = walk.starts;
  for (size_t d = 0; d < walk.shape.size(); ++d) {
    if (walk.shape[d] == 1) continue;
    bool even = !out.shape.empty();
    for (size_t n = 0; even && n < N; ++n) even = out.strides[n].back() == walk.strides[n][d] * walk.shape[d];
    if (even)
      out.shape.back() *= walk.shape[d];
    else
      out.shape.push_back(walk.shape[d]);
    for (size_t n = 0; n < N; ++n) {
      if (!even) out.strides[n].push_back(0);
      out.strides[n].back() = walk.strides[n][d];
    }
  }
  return out;
}

template <size_t N>
using Places = std::array<int64_t, N>;

// body(first, at, step, count): `count` positions in a row from row-major position `first` on;
// operand n's elements are at[n], at[n] + step[n], ...
template <size_t N, class Body>
void walk_range(const Walk<N>& walk, int64_t begin, int64_t end, const Body& body) {
  size_t rank = walk.shape.size();
  int64_t width = rank ? walk.shape[rank - 1] : 1;
  Places<N> step{};
  for (size_t n = 0; rank && n < N; ++n) step[n] = walk.strides[n][rank - 1];
  while (begin < end) {
    int64_t row = begin / width, column = begin % width, count = std::min(width - column, end - begin);
    Places<N> at = walk.starts;
    for (size_t d = rank; d-- > 1;) {
      int64_t size = walk.shape[d - 1], coordinate = row % size;
      row /= size;
      for (size_t n = 0; n < N; ++n) at[n] += coordinate * walk.strides[n][d - 1];
    }
    for (size_t n = 0; n < N; ++n) at[n] += column * step[n];
    body(begin, at, step, count);
    begin += count;
  }
}

// In parallel, for bodies whose positions don't touch each other.
template <size_t N, class Body>
void walk_all(const Walk<N>& given, const Body& body) {
  Walk<N> walk = joined(given);
  parallel_for(element_count(walk.shape), 1 << 14,
               [&](int64_t begin, int64_t end) { walk_range(walk, begin, end, body); });
}

// In row-major order on one thread, where a later position may overwrite an earlier one.
template <size_t N, class Body>
void walk_in_order(const Walk<N>& given, const Body& body) {
  Walk<N> walk = joined(given);
  walk_range(walk, 0, element_count(walk.shape), body);
}

// A tensor as rows along `dims`: rows are numbered row-major by the other dimensions, and a row's elements
// are row-major by `dims`.
class Rows {
 public:
  Rows(const Shape& shape, const std::vector<bool>& along) {
    std::vector<int64_t> strides = contiguous_strides(shape);
    std::vector<int64_t> row_strides;
    Shape row_shape;
    bool seen = false;
    for (size_t d = 0; d < shape.size(); ++d) {
      (along[d] ? length_ : count_) *= shape[d];
      (along[d] ? row_shape : shape_).push_back(shape[d]);
      (along[d] ? row_strides : strides_).push_back(strides[d]);
      if (along[d] && shape[d] != 1) seen = true;
      if (!along[d] && shape[d] != 1 && seen) contiguous_ = false;
    }
    if (contiguous_) return;
    offsets_.resize(static_cast<size_t>(length_));
    walk_range(Walk<1>{row_shape, {row_strides}}, 0, length_,
               [&](int64_t first, Places<1> at, Places<1> step, int64_t count) {
                 for (int64_t i = 0; i < count; ++i)
                   offsets_[static_cast<size_t>(first + i)] = at[0] + i * step[0];
               });
  }

  // Along one dimension; a tensor of rank 0 is one row of one.
  static Rows along(const Shape& shape, int64_t dim) {
    std::vector<bool> dims(shape.size(), false);
    if (!shape.empty()) dims[static_cast<size_t>(dim)] = true;
    return Rows(shape, dims);
  }

  int64_t count() const { return count_; }
  int64_t length() const { return length_; }

  // Row `row` of x: in place where it lies in one piece, otherwise gathered into `space`.
  template <class T>
  const T* read(const T* x, int64_t row, std::vector<T>& space) const {
    if (contiguous_) return x + row * length_;
    const T* from = x + start(row);
    space.resize(static_cast<size_t>(length_));
    for (size_t i = 0; i < space.size(); ++i) space[i] = from[offsets_[i]];
    return space.data();
  }

  template <class T>
  void write(const std::vector<T>& values, T* y, int64_t row) const {
    if (contiguous_) {
      std::copy_n(values.begin(), length_, y + row * length_);
      return;
    }
    T* to = y + start(row);
    for (size_t i = 0; i < offsets_.size(); ++i) to[offsets_[i]] = values[i];
  }

  // Rows worth a thread of their own.
  int64_t grain() const { return std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(length_, 1)); }

 private:
  int64_t start(int64_t row) const {
    int64_t offset = 0;
    for (size_t d = shape_.size(); d-- > 0; row /= shape_[d]) offset += row % shape_[d] * strides_[d];
    return offset;
  }

  int64_t count_ = 1, length_ = 1;
  Shape shape_;  // of the other dimensions
  std::vector<int64_t> strides_, offsets_;
  bool contiguous_ = true;
};

}  // namespace stitch::oracle
