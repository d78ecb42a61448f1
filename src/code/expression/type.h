// Types and numbers of generated C++.
#pragma once

#include <string>

#include "graph/type.h"

namespace stitch::code {

struct Type {
  std::string name;      // C++ spelling: float, stitch::Moments, const float*
  int64_t bytes = 0;     // of one value, if known
  bool pointer = false;  // its const comes after it

  bool operator==(const Type& other) const { return name == other.name; }
};

inline const Type auto_type{"auto"}, bool_type{"bool", 1}, int_type{"int", 4}, int64_type{"int64_t", 8},
    uint64_type{"uint64_t", 8}, double_type{"double", 8};

Type pointer_to(const Type& type, bool constant);

// In memory: float, __half, int64_t, …
Type stored_type(DType dtype);
// In computation: 16-bit floats as float, narrow integers as int.
Type computed_type(DType dtype);

// A number of the computed type. Floats with the fewest digits that read back exactly.
std::string literal(double value, DType dtype);

}  // namespace stitch::code
