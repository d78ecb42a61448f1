// Views. A reshape shares its operand's elements; the others copy, since tensors here are contiguous.
#include "oracle/call.h"
#include "oracle/walk.h"

namespace stitch::oracle {

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
