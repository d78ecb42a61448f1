// Symbols that an object file imports and exports: macros can hide a call from a lexer, not from the linker.
#pragma once

#include <set>
#include <string>

#include "base/file.h"

namespace stitch::build {

struct ObjectSymbols {
  std::set<std::string> wanted;   // undefined: from libraries or other objects
  std::set<std::string> offered;  // global and defined
};
// Of a 64-bit ELF object; otherwise empty.
ObjectSymbols symbols_of(const fs::path& object);

}  // namespace stitch::build
