// One source for every size of a range, from the sources that the Coder writes at several of them: texts that
// differ in numbers alone, and numbers that are formulas of the sizes.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "graph/size_table.h"

namespace stitch::code {

// One text for each row of the table. Numbers that differ become formulas of an object `sizes`, which
// functions named enqueue_… and prepare_… take before their stream. Structs whose numbers differ are made
// from it. An error shows the code at two sizes where it can't be one, or that must be known when it is
// compiled.
Result<std::string> unify(const SizeTable& table, std::span<const std::string> texts);

}  // namespace stitch::code
