// Data movement.
#include "oracle/call.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

// For each dimension, the operand's coordinate at each result coordinate; -1 means the fill.
using Sources = std::vector<std::vector<int64_t>>;

template <class T>
void remap(const Tensor& x, Tensor& out, const Sources& sources, T fill) {
  const Shape& shape = out.shape();
  size_t rank = shape.size();
  std::vector<int64_t> strides = contiguous_strides(x.shape());
  const T* from = x.data<T>();
  T* to = out.writable<T>();
  if (rank == 0) {
    to[0] = from[0];
    return;
  }
  int64_t width = shape.back();
  parallel_for(width ? out.elements() / width : 0, std::max<int64_t>(1, 8192 / std::max<int64_t>(width, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   int64_t rest = row, start = 0;
                   bool inside = true;
                   for (size_t d = rank - 1; d-- > 0; rest /= shape[d]) {
                     int64_t source = sources[d][static_cast<size_t>(rest % shape[d])];
                     inside = inside && source >= 0;
                     start += source * strides[d];
                   }
                   for (int64_t i = 0; i < width; ++i) {
                     int64_t source = sources[rank - 1][static_cast<size_t>(i)];
                     to[row * width + i] = inside && source >= 0 ? from[start + source] : fill;
                   }
                 }
               });
}

Outcome remapped(const Call& call, const Sources& sources, double fill = 0) {
  Tensor out = call.result();
  if (out.floating())
    remap<double>(call.in(), out, sources, fill);
  else
    remap<int64_t>(call.in(), out, sources, to_integer(fill, out.dtype()));
  return one(std::move(out));
}

Sources identity(const Shape& shape) {
  Sources sources(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    for (int64_t i = 0; i < shape[d]; ++i) sources[d].push_back(i);
  return sources;
}

int64_t modulo(int64_t a, int64_t b) { return (a % b + b) % b; }

int64_t padded_source(int64_t i, int64_t size, const std::string& mode) {
  if (i >= 0 && i < size) return i;
  if (mode == "constant") return -1;
  if (mode == "replicate") return i < 0 ? 0 : size - 1;
  if (mode == "circular") return modulo(i, size);
  return i < 0 ? -i : 2 * (size - 1) - i;  // reflect, the edge not repeated
}

}  // namespace

Outcome evaluate_flip(const Call& call) {
  Sources sources = identity(call.in().shape());
  for (int64_t dim : call.attributes().integers("dims"))
    if (!sources.empty())
      std::ranges::reverse(sources[static_cast<size_t>(from_start(dim, call.in().rank()))]);
  return remapped(call, sources);
}

Outcome evaluate_roll(const Call& call) {
  Sources sources = identity(call.in().shape());
  const auto &dims = call.attributes().integers("dims"), &shifts = call.attributes().integers("shifts");
  for (size_t k = 0; k < dims.size() && !sources.empty(); ++k) {
    auto& list = sources[static_cast<size_t>(from_start(dims[k], call.in().rank()))];
    int64_t size = std::ssize(list);
    if (size) std::rotate(list.begin(), list.begin() + (size - modulo(shifts[k], size)) % size, list.end());
  }
  return remapped(call, sources);
}

Outcome evaluate_pad(const Call& call) {
  const Shape& shape = call.in().shape();
  const auto& pads = call.attributes().integers("pads");
  const std::string& mode = call.attributes().text("mode");
  Sources sources(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    for (int64_t i = -pads[2 * d]; i < shape[d] + pads[2 * d + 1]; ++i)
      sources[d].push_back(padded_source(i, shape[d], mode));
  return remapped(call, sources, call.attributes().number("value"));
}

Outcome evaluate_concat(const Call& call) {
  Tensor out = call.result();
  size_t dim = static_cast<size_t>(call.dimension("dim"));
  const Shape& shape = out.shape();
  int64_t inner = element_count({shape.begin() + static_cast<int64_t>(dim) + 1, shape.end()});
  int64_t outer = element_count({shape.begin(), shape.begin() + static_cast<int64_t>(dim)});
  with_element(out.dtype(), [&](auto element) {
    using T = decltype(element);
    T* y = out.writable<T>();
    int64_t start = 0;
    for (const Tensor* operand : call.operands) {
      const T* x = operand->data<T>();
      int64_t run = operand->shape()[dim] * inner;
      parallel_for(outer, std::max<int64_t>(1, 8192 / std::max<int64_t>(run, 1)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t o = begin; o < end; ++o)
                       std::copy_n(x + o * run, run, y + o * shape[dim] * inner + start);
                   });
      start += run;
    }
  });
  return one(std::move(out));
}

Outcome evaluate_triangle(const Call& call) {
  Tensor out = call.result();
  bool lower = call.op() == Op::tril;
  // Beyond the matrix every diagonal is the same, and i + diagonal must not overflow.
  int64_t columns = out.shape().back(), rows = out.shape()[out.shape().size() - 2];
  int64_t diagonal = std::clamp(call.attributes().integer("diagonal"), -rows - 1, columns + 1);
  with_element(out.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* x = call.in().data<T>();
    T* y = out.writable<T>();
    parallel_for(columns ? out.elements() / columns : 0, 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t j = 0; j < columns; ++j) {
          int64_t above = j - row % rows;
          bool keep = lower ? above <= diagonal : above >= diagonal;
          y[row * columns + j] = keep ? x[row * columns + j] : T{0};
        }
    });
  });
  return one(std::move(out));
}

Outcome evaluate_update_slice(const Call& call) {
  Tensor out = call.in(0).copy();
  const Tensor& update = call.in(1);
  std::vector<int64_t> strides = contiguous_strides(out.shape());
  int64_t& along = strides[static_cast<size_t>(call.dimension("dim"))];
  int64_t start = call.attributes().integer("start") * along;
  along *= std::min(call.attributes().integer("step"), std::max<int64_t>(out.elements(), 1));
  with_element(out.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* x = update.data<T>();
    T* y = out.writable<T>();
    walk_all(Walk<1>{update.shape(), {strides}, {start}},
             [=](int64_t first, Places<1> at, Places<1> step, int64_t count) {
               for (int64_t i = 0; i < count; ++i) y[at[0] + i * step[0]] = x[first + i];
             });
  });
  return one(std::move(out));
}

// Views. A reshape shares its operand's elements; the others copy, since tensors here are contiguous.

namespace {

// Result position p is the operand's element start + p . strides.
Outcome strided(const Call& call, std::vector<int64_t> strides, int64_t start = 0) {
  Tensor out = call.result();
  with_element(out.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* x = call.in().data<T>();
    T* y = out.writable<T>();
    walk_all(Walk<1>{out.shape(), {std::move(strides)}, {start}},
             [=](int64_t first, Places<1> at, Places<1> step, int64_t count) {
               for (int64_t i = 0; i < count; ++i) y[first + i] = x[at[0] + i * step[0]];
             });
  });
  return one(std::move(out));
}

}  // namespace

Outcome evaluate_reshape(const Call& call) { return one(call.in().reshaped(call.type().shape)); }

Outcome evaluate_permute(const Call& call) {
  std::vector<int64_t> own = contiguous_strides(call.in().shape()), strides;
  for (int64_t dim : call.attributes().integers("dims")) strides.push_back(own[static_cast<size_t>(dim)]);
  return strided(call, std::move(strides));
}

Outcome evaluate_expand(const Call& call) {
  return strided(call, broadcast_strides(call.in().shape(), call.type().shape));
}

Outcome evaluate_slice(const Call& call) {
  std::vector<int64_t> strides = contiguous_strides(call.in().shape());
  int64_t& along = strides[static_cast<size_t>(call.dimension("dim"))];
  int64_t start = call.attributes().integer("start") * along;
  // A step past the end is never taken, and must not overflow.
  along *= std::min(call.attributes().integer("step"), std::max<int64_t>(call.in().elements(), 1));
  return strided(call, std::move(strides), start);
}

Outcome evaluate_strided_view(const Call& call) {
  return strided(call, call.attributes().integers("strides"), call.attributes().integer("offset"));
}

}  // namespace stitch::oracle
