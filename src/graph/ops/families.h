// Registry entries of every family, and shared parts of inference.
#pragma once

#include <algorithm>

#include "graph/op.h"

namespace stitch::ops {

// In the order of Op.
std::vector<OpInfo> unary();
std::vector<OpInfo> binary();
std::vector<OpInfo> reductions();
std::vector<OpInfo> scans();
std::vector<OpInfo> normalizations();
std::vector<OpInfo> linear_algebra();
std::vector<OpInfo> convolutions();
std::vector<OpInfo> pools();
std::vector<OpInfo> sequences();
std::vector<OpInfo> views();
std::vector<OpInfo> movements();
std::vector<OpInfo> indexing();
std::vector<OpInfo> creation();

inline Error ill(std::string message) { return user_error("ill_typed", std::move(message)); }

// Normalises a dimension counted from the end. Rank 0 counts as rank 1.
Result<int64_t> dimension(int64_t dim, int64_t rank);
Result<void> need_floating(const TensorType& type, std::string_view what);
Result<void> need_integer(const TensorType& type, std::string_view what);
Result<void> need_same_dtype(const TensorType& a, const TensorType& b, std::string_view what);
Result<void> need_shape(const TensorType& type, const Shape& shape, std::string_view what);
Result<void> need_fit(const Shape& shape);

// Bytes of every operand and result, once.
double traffic(OperandTypes operands, const ResultTypes& results);

Cost free_of_cost(OperandTypes, const Attributes&, const ResultTypes&);  // views
Cost only_traffic(OperandTypes, const Attributes&, const ResultTypes&);  // copies
Cost per_result(OperandTypes, const Attributes&, const ResultTypes&);    // one operation per result element
Cost per_operand(OperandTypes, const Attributes&,
                 const ResultTypes&);  // one operation per element of operand 0

inline double elements(const TensorType* type) { return static_cast<double>(type->elements()); }

}  // namespace stitch::ops
