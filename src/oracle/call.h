// One node being evaluated, as the evaluation functions see it.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "oracle/tensor.h"

namespace stitch::oracle {

using Outcome = Result<std::vector<Tensor>>;

struct Call {
  const Graph& graph;
  const Node& node;
  std::span<const Tensor* const> operands;

  Op op() const { return node.op; }
  const Attributes& attributes() const { return node.attributes; }
  bool has(size_t i) const { return i < operands.size() && operands[i]; }
  const Tensor& in(size_t i = 0) const { return *operands[i]; }
  // An optional float operand's elements, or null.
  const double* numbers(size_t i) const { return has(i) ? operands[i]->data<double>() : nullptr; }
  const TensorType& type(size_t i = 0) const { return graph.type(node.results[i]); }
  // Result i, uninitialised.
  Tensor result(size_t i = 0) const { return Tensor(type(i).dtype, type(i).shape); }
  // The dimension in `attribute`, normalised.
  int64_t dimension(std::string_view attribute) const;
};

inline Outcome one(Tensor tensor) {
  std::vector<Tensor> out;
  out.push_back(std::move(tensor));
  return out;
}

inline Outcome two(Tensor first, Tensor second) {
  std::vector<Tensor> out;
  out.push_back(std::move(first));
  out.push_back(std::move(second));
  return out;
}

// Normalises a dimension counted from the end; rank 0 counts as rank 1.
inline int64_t from_start(int64_t dim, int64_t rank) {
  return dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim;
}

inline int64_t Call::dimension(std::string_view attribute) const {
  return from_start(attributes().integer(attribute), in().rank());
}

using Evaluate = Outcome (*)(const Call&);
// The function that evaluates an op.
Evaluate evaluator(Op op);

Outcome evaluate_unary(const Call&);
Outcome evaluate_cast(const Call&);
Outcome evaluate_arithmetic(const Call&);
Outcome evaluate_comparison(const Call&);
Outcome evaluate_logic(const Call&);
Outcome evaluate_where(const Call&);
Outcome evaluate_reduction(const Call&);
Outcome evaluate_position(const Call&);
Outcome evaluate_scan(const Call&);
Outcome evaluate_extreme_scan(const Call&);
Outcome evaluate_softmax(const Call&);
Outcome evaluate_batch_norm(const Call&);
Outcome evaluate_sample_norm(const Call&);
Outcome evaluate_linear(const Call&);
Outcome evaluate_matmul(const Call&);
Outcome evaluate_einsum(const Call&);
Outcome evaluate_grouped_matmul(const Call&);
Outcome evaluate_lu(const Call&);
Outcome evaluate_cholesky(const Call&);
Outcome evaluate_qr(const Call&);
Outcome evaluate_triangular_solve(const Call&);
Outcome evaluate_conv(const Call&);
Outcome evaluate_conv_transpose(const Call&);
Outcome evaluate_max_pool(const Call&);
Outcome evaluate_avg_pool(const Call&);
Outcome evaluate_adaptive_max_pool(const Call&);
Outcome evaluate_adaptive_avg_pool(const Call&);
Outcome evaluate_resize(const Call&);
Outcome evaluate_attention(const Call&);
Outcome evaluate_rnn(const Call&);
Outcome evaluate_reshape(const Call&);
Outcome evaluate_permute(const Call&);
Outcome evaluate_expand(const Call&);
Outcome evaluate_slice(const Call&);
Outcome evaluate_strided_view(const Call&);
Outcome evaluate_flip(const Call&);
Outcome evaluate_roll(const Call&);
Outcome evaluate_concat(const Call&);
Outcome evaluate_pad(const Call&);
Outcome evaluate_triangle(const Call&);
Outcome evaluate_update_slice(const Call&);
Outcome evaluate_gather(const Call&);
Outcome evaluate_scatter(const Call&);
Outcome evaluate_index(const Call&);
Outcome evaluate_index_put(const Call&);
Outcome evaluate_sort(const Call&);
Outcome evaluate_topk(const Call&);
Outcome evaluate_searchsorted(const Call&);
Outcome evaluate_full(const Call&);
Outcome evaluate_iota(const Call&);
Outcome evaluate_random(const Call&);

}  // namespace stitch::oracle
