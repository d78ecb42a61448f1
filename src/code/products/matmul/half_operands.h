// The operands of an FP32 product as fp16 matrices of one to three parts (kernels/split_half.h): weights are
// packed when a program is created, activations converted on every run, unless the plan stores them in fp16.
#pragma once

#include "base/division.h"
#include "code/products/matmul/library_product.h"

namespace stitch::code {

// One side of the product.
struct HalfOperand {
  bool left;
  bool depth_inside;  // stored as (side, depth)
  bool quads;         // every four elements are contiguous
  int64_t side, parts;
  int64_t part_depth;  // stride between parts
  bool weight;
  const Place* place;
  std::optional<MatrixForm> stored;  // in fp16 as it is
  std::string type;                  // of its SplitOperand
  std::string pointer;               // of its fp16 form
  bool converted() const { return !weight && !stored; }

  int64_t depth;        // padded
  int64_t filled_side;  // in the products
  int64_t padded() const { return depth_inside ? depth : rounded_up(side, 8); }
  int64_t elements() const { return parts * (depth_inside ? side : depth) * padded(); }
  // After the last element: padding rows read by a product.
  int64_t slack() const { return depth_inside ? parts * padded() * (filled_side - side) : 0; }
  // Stride of the depth.
  int64_t step() const { return depth_inside ? 1 : padded(); }
  // Offset of a part for the products from this depth on.
  int64_t offset(int64_t part, int64_t at) const {
    return ((at / part_depth * parts + part) * part_depth + at % part_depth) * step();
  }
  // Lines of a MatmulSpec. `rows`: of the product for each stored one; `batch_stride`: 0 without batches.
  std::string matrix_spec(int64_t batch_stride, int rows = 1) const;
};

struct HalfOperands {
  HalfOperand left, right;
  std::string factors;  // the SplitFactors of a run; empty: nothing is converted
  std::string scale;    // the line of a MatmulSpec that takes the operands' scales from the result
};
// In chunks of the depth of `part_depth`, which cover all of it. Refused: operands stored in fp16 that can't
// be multiplied as they are, or in another type.
Result<HalfOperands> half_operands(const LibraryProduct& made, int64_t parts, int64_t depth,
                                   int64_t part_depth);
// Fills the sides up as the library likes them, then reserves the result. After `made` knows its partials.
void fill_up(LibraryProduct& made, HalfOperands& operands);
// Definitions, packed weights, and the lines of a run that convert activations.
void write_conversions(LibraryProduct& made, HalfOperands& operands);

// Blocks of a converting pass: set when a program is created.
plan::Knob conversion_blocks_knob(const GpuSpec& gpu);

}  // namespace stitch::code
