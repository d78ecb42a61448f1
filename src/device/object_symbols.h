// What an object file asks for and offers, by its symbol table: macros can hide a call from a lexer, not from
// the linker.
#pragma once

#include <set>
#include <string>

#include "base/file.h"

namespace stitch::device {

struct ObjectSymbols {
  std::set<std::string> wanted;   // undefined here: of libraries, or of the program's other objects
  std::set<std::string> offered;  // global, and defined
};
// Of an ELF object of 64 bits; empty of anything else.
ObjectSymbols symbols_of(const fs::path& object);

}  // namespace stitch::device
