#include "verify/numerics/order_of_equals.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

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

namespace {

// What only hands elements on.
bool hands_on(const Node& node) {
  const Family family = info(node.op).family;
  return family == Family::view || node.op == Op::cast ||
         (family == Family::movement && node.operands.size() == 1);
}

}  // namespace

bool makes_use_of_positions(const Graph& graph) {
  std::vector<bool> positions(graph.values.size());
  for (const Node& node : graph.nodes) {
    const bool reads = std::ranges::any_of(
        node.operands, [&](ValueId id) { return id != ValueId::none && positions[index_of(id)]; });
    if (reads && !hands_on(node)) return true;
    if (reads) positions[index_of(node.results[0])] = true;
    if (leaves_equals_in_any_order(node) && node.results.size() > 1)
      positions[index_of(node.results[1])] = true;
  }
  return false;
}

const Node* ordering_of(const Graph& graph, ValueId output) {
  const std::vector<int32_t> makers = producers(graph);
  while (output != ValueId::none && makers[index_of(output)] >= 0) {
    const Node& node = graph.node(makers[index_of(output)]);
    if (leaves_equals_in_any_order(node))
      return node.results.size() > 1 && node.results[1] == output ? &node : nullptr;
    if (!hands_on(node)) return nullptr;
    output = node.operands[0];
  }
  return nullptr;
}

std::vector<std::byte> truth_among_equals(const TensorBytes& positions, const TensorBytes& truth,
                                          const Ordering& ordering, int64_t& count) {
  count = 0;
  std::vector<std::byte> out(truth.bytes.begin(), truth.bytes.end());
  auto given = oracle::Tensor::from_bytes(positions.type.dtype, truth.type.shape, positions.bytes),
       exact = oracle::Tensor::from_bytes(truth.type.dtype, truth.type.shape, truth.bytes);
  if (!given || !exact || ordering.shape.empty()) return out;
  const auto axis =
      static_cast<size_t>(ordering.dim < 0 ? ordering.dim + std::ssize(ordering.shape) : ordering.dim);
  const int64_t kept = ordering.shape[axis], length = ordering.ordered.shape()[axis],
                inner = contiguous_strides(ordering.shape)[axis];
  const std::vector<int64_t> named = elements_of<int64_t>(*given, DType::i64);
  std::vector<int64_t> accepted = elements_of<int64_t>(*exact, DType::i64);
  const std::vector<double> values = elements_of<double>(ordering.ordered, DType::f64);
  struct Row {
    std::map<int64_t, int64_t> place_of;  // by what is named
    std::vector<size_t> elements;
    bool fits = true;
  };
  std::map<int64_t, Row> rows;  // by where a row begins in what was put in order
  for (size_t i = 0; i < named.size(); ++i) {
    const int64_t place = ordering.places[i];
    if (place < 0 ||
        place >= kept * inner * (ordering.ordered.elements() / std::max<int64_t>(1, length * inner)))
      return out;
    const int64_t from = place / (kept * inner) * length * inner + place % inner;
    auto value = [&](int64_t at) { return values[static_cast<size_t>(from + at * inner)]; };
    Row& row = rows[from];
    row.elements.push_back(i);
    row.fits &= named[i] >= 0 && named[i] < length && value(named[i]) == value(accepted[i]) &&
                row.place_of.emplace(named[i], place).first->second == place;
  }
  for (const auto& [from, row] : rows)
    for (size_t i : row.elements)
      if (row.fits) count += std::exchange(accepted[i], named[i]) != named[i];
  std::vector<std::byte> bytes(accepted.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), accepted.data(), bytes.size());
  auto whole = oracle::Tensor::from_bytes(DType::i64, truth.type.shape, bytes);
  return whole ? whole->to_bytes(truth.type.dtype) : out;
}

}  // namespace stitch::verifier
