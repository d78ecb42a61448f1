// What a library does, whatever it is called: a fingerprint of its code and data without debug information.
#pragma once

#include <string>

#include "base/file.h"

namespace stitch::mutants {

// Equal for two libraries whose loaded sections are equal to the byte, but for the name of the program's
// folder below `folders`, which messages hold: all of those have names of one length. An Error: it is no ELF
// file.
Result<std::string> machine_code_hash(const fs::path& library, const fs::path& folders = {});

}  // namespace stitch::mutants
