// How numbers of the graph are spelled in generated C.
#pragma once

#include <string>

#include "code/names.h"
#include "graph/type.h"

namespace stitch::code::loops {

inline std::string stored_type(DType dtype) { return std::string(element_type(dtype)); }
// As it is computed with: 16-bit floats as float, narrow integers as int.
std::string computed_type(DType dtype);

// A number of the computed type. Floats in the fewest digits that read back as themselves.
std::string literal(double value, DType dtype);

}  // namespace stitch::code::loops
