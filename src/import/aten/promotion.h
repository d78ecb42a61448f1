// PyTorch's type promotion: tensors with dimensions outrank those without, which outrank numbers,
// and a lower rank only matters when its kind (bool < integer < floating) is higher.
#pragma once

#include <optional>

#include "import/aten/table.h"

namespace stitch {

DType promote(DType a, DType b);

class Promotion {
 public:
  void tensor(const TensorType& type) { meet(type.rank() > 0 ? 0 : 1, type.dtype); }
  void number(bool floating, bool boolean) {
    meet(2, boolean ? DType::boolean : floating ? DType::f32 : DType::i64);
  }
  DType result() const;

 private:
  void meet(size_t rank, DType dtype);
  std::optional<DType> ranks_[3];
};

// The dtype two arguments (tensors or numbers) meet in.
DType common_dtype(const Call& call, std::initializer_list<const char*> names);

}  // namespace stitch
