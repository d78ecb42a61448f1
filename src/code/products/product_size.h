// How large a product is, and what it takes in FP32 and split into fp16 parts: for choosing between the two.
#pragma once

#include <optional>

#include "device/gpu_spec.h"
#include "plan/plan.h"

namespace stitch::code {

struct ProductSize {
  double left, right, result;  // elements
  double multiplications;
  bool left_is_weight, right_is_weight;
  ValueId left_weight, right_weight;  // what they are views of

  // Whatever is batched: elements that share nothing with the other side count once.
  double rows() const { return multiplications / right; }
  double columns() const { return multiplications / left; }
  double depth() const { return multiplications / result; }
};
// Nothing: it isn't one product of two operands.
std::optional<ProductSize> product_size(const Graph& graph, const plan::Region& region);

double fp32_seconds(const GpuSpec& gpu, const ProductSize& size);
double int8_seconds(const GpuSpec& gpu, const ProductSize& size);
double split_seconds(const GpuSpec& gpu, const ProductSize& size);

}  // namespace stitch::code
