// The program headers that a kernel's statements include.
#pragma once

#include <set>
#include <string>

#include "code/expression/statement.h"

namespace stitch::code::loops {

// Such as "stitch/loops/scan.h", for everything that the statements use.
std::set<std::string> headers_of(const Block& block);

}  // namespace stitch::code::loops
