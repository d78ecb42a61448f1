// A hash of a library's code and data without debug information.
#pragma once

#include <string>

#include "base/file.h"

namespace stitch::mutants {

// Equal for libraries whose loaded sections are equal, except for the name of the program's folder below
// `folders`, which occurs in messages; these names have one length. An Error: not an ELF file.
Result<std::string> machine_code_hash(const fs::path& library, const fs::path& folders = {});

}  // namespace stitch::mutants
