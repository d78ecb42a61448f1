// A product's size, and its time in FP32 and split into fp16 parts, to choose between them.
#pragma once

#include <optional>

#include "gpu/gpu_spec.h"
#include "plan/plan.h"

namespace stitch::code {

struct ProductSize {
  double left, right, result;  // elements
  double multiplications;
  bool left_is_weight, right_is_weight;
  ValueId left_weight, right_weight;  // the sources of their views

  // With batches: elements that share nothing with the other side count once.
  double rows() const { return multiplications / right; }
  double columns() const { return multiplications / left; }
  double depth() const { return multiplications / result; }
};
// Empty: not one product of two operands.
std::optional<ProductSize> product_size(const Graph& graph, const plan::Region& region);

double fp32_seconds(const GpuSpec& gpu, const ProductSize& size);
double int8_seconds(const GpuSpec& gpu, const ProductSize& size);
double split_seconds(const GpuSpec& gpu, const ProductSize& size);

}  // namespace stitch::code
