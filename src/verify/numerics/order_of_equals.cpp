#include "verify/numerics/order_of_equals.h"

#include <algorithm>
#include <cstring>

namespace stitch::verifier {

namespace {

template <class T>
std::vector<T> elements_of(const oracle::Tensor& tensor, DType dtype) {
  const std::vector<std::byte> bytes = tensor.to_bytes(dtype);
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace

bool leaves_equals_in_any_order(const Node& node) {
  return node.op == Op::topk || (node.op == Op::sort && !node.attributes.flag("stable"));
}

const Node* ordering_of(const Graph& graph, ValueId output) {
  for (const Node& node : graph.nodes)
    if (leaves_equals_in_any_order(node) && node.results.size() > 1 && node.results[1] == output)
      return &node;
  return nullptr;
}

std::vector<std::byte> truth_among_equals(const TensorBytes& positions, const TensorBytes& truth,
                                          const oracle::Tensor& ordered, int64_t dim, int64_t& count) {
  count = 0;
  std::vector<std::byte> out(truth.bytes.begin(), truth.bytes.end());
  const Shape& shape = truth.type.shape;
  auto given = oracle::Tensor::from_bytes(positions.type.dtype, shape, positions.bytes),
       exact = oracle::Tensor::from_bytes(truth.type.dtype, shape, truth.bytes);
  if (!given || !exact || shape.empty()) return out;
  const auto axis = static_cast<size_t>(dim < 0 ? dim + std::ssize(shape) : dim);
  const int64_t kept = shape[axis], length = ordered.shape()[axis], inner = contiguous_strides(shape)[axis];
  const std::vector<int64_t> named = elements_of<int64_t>(*given, DType::i64);
  std::vector<int64_t> accepted = elements_of<int64_t>(*exact, DType::i64);
  const std::vector<double> values = elements_of<double>(ordered, DType::f64);
  for (int64_t row = 0; kept > 0 && row < std::ssize(named) / kept; ++row) {
    const int64_t outer = row / inner, first = outer * kept * inner + row % inner,
                  from = outer * length * inner + row % inner;
    auto place = [&](int64_t k) { return static_cast<size_t>(first + k * inner); };
    auto value = [&](int64_t at) { return values[static_cast<size_t>(from + at * inner)]; };
    std::vector<bool> seen(static_cast<size_t>(length));
    bool fits = true;
    int64_t others = 0;
    for (int64_t k = 0; fits && k < kept; ++k) {
      const int64_t at = named[place(k)], wanted = accepted[place(k)];
      fits = at >= 0 && at < length && !seen[static_cast<size_t>(at)] && value(at) == value(wanted);
      if (fits) seen[static_cast<size_t>(at)] = true;
      others += at != wanted;
    }
    if (!fits) continue;
    for (int64_t k = 0; k < kept; ++k) accepted[place(k)] = named[place(k)];
    count += others;
  }
  std::vector<std::byte> bytes(accepted.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), accepted.data(), bytes.size());
  auto whole = oracle::Tensor::from_bytes(DType::i64, shape, bytes);
  return whole ? whole->to_bytes(truth.type.dtype) : out;
}

}  // namespace stitch::verifier
