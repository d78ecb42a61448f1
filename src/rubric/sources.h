// A program's files as the rubric reads them.
#pragma once

#include "base/file.h"
#include "rubric/code_facts.h"

namespace stitch::rubric {

inline constexpr size_t most_source_bytes = size_t{64} << 20;  // of a whole program

// A program folder, a .cu file, or a .py file with ModelNew. Headers that they include come along: the
// program's own, and those under stitch/ that every program has.
Result<std::vector<Source>> read_sources(const fs::path& program);

}  // namespace stitch::rubric
