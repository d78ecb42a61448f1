// A product's size, and its time in FP32, in TF32 and as fp16 parts, to choose between them.
#pragma once

#include <optional>

#include "gpu/gpu_spec.h"
#include "plan/plan.h"

namespace stitch::code {

struct ProductSize {
  double left, right, result;  // elements
  double multiplications;
  bool left_is_weight, right_is_weight;
  ValueId left_source, right_source;  // of their views

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
double tf32_seconds(const GpuSpec& gpu, const ProductSize& size);
double rounded_seconds(const GpuSpec& gpu, const ProductSize& size);

// How the threads of a block of kernels/matmul_vector.h divide rows of the wide matrix: teams per block,
// small enough that hardly a thread idles at the end of a sum of `depth`, as long as every multiprocessor has
// a block. `blocks`: with one team each.
int vector_teams(const GpuSpec& gpu, int64_t depth, int64_t bytes_an_element, int64_t blocks);

}  // namespace stitch::code
