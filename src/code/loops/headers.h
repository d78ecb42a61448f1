// The program headers that a kernel's statements need.
#pragma once

#include <set>
#include <string>

#include "code/expression/statement.h"

namespace stitch::code::loops {

// "stitch/kernels/loops_scan.h" and the like, of all that these statements call, make or declare.
std::set<std::string> headers_of(const Block& block);

}  // namespace stitch::code::loops
