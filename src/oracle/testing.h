// For tests: one op on small tensors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "oracle/interpreter.h"

namespace stitch::oracle {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using Ints = std::vector<int64_t>;
using Numbers = std::vector<double>;

inline Tensor floats(Shape shape, const Numbers& values) {
  return Tensor::of(DType::f32, std::move(shape), values);
}
inline Tensor longs(Shape shape, const Numbers& values) {
  return Tensor::of(DType::i64, std::move(shape), values);
}

// start, start + step, ...
inline Tensor counting(const Shape& shape, double start = 0, double step = 1) {
  Numbers values;
  for (int64_t i = 0; i < element_count(shape); ++i) values.push_back(start + step * static_cast<double>(i));
  return floats(shape, values);
}

// A null operand is absent.
inline Result<std::vector<Tensor>> try_apply(Op op, const std::vector<const Tensor*>& operands,
                                             const Attributes& attributes = {}) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const Tensor* tensor : operands)
    ids.push_back(tensor ? graph.add_leaf(Role::input, "x", {tensor->dtype(), tensor->shape(), {}})
                         : ValueId::none);
  auto results = graph.add_node(op, ids, attributes, "y", "model.py:7");
  if (!results) return std::move(results).error();
  std::vector<const Tensor*> given = operands;
  given.resize(graph.nodes[0].operands.size(), nullptr);
  return evaluate_node(graph, graph.nodes[0], given);
}

inline std::vector<Tensor> apply_all(Op op, const std::vector<Tensor>& operands,
                                     const Attributes& attributes = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : operands) pointers.push_back(&tensor);
  auto results = try_apply(op, pointers, attributes);
  if (!results) throw Bug(results.error().text());
  return *std::move(results);
}

inline Tensor apply(Op op, const std::vector<Tensor>& operands, const Attributes& attributes = {}) {
  return apply_all(op, operands, attributes)[0];
}

inline Numbers values(const Tensor& tensor) {
  Numbers out;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    out.push_back(tensor.floating() ? tensor.data<double>()[i]
                                    : static_cast<double>(tensor.data<int64_t>()[i]));
  return out;
}

// NaN equals NaN; finite numbers may differ in the last digits.
inline void expect_values(const Tensor& tensor, const Numbers& wanted, double tolerance = 1e-12) {
  Numbers got = values(tensor);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i]))
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    else if (std::isinf(wanted[i]))
      EXPECT_EQ(got[i], wanted[i]) << "element " << i;
    else
      EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::fabs(wanted[i]))) << "element " << i;
  }
}

}  // namespace stitch::oracle
