// Compilers' words, as much of them as helps: each error once, the first one first.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch::device {

// "file:line: what", context below, for the errors in the output of nvcc, g++, clang++, ptxas or ld. Paths
// below `scratch` lose it. An output without a known error is given shortened.
std::string shortened_errors(std::string_view output, std::string_view scratch);

// A compiler that didn't end well: the sources' fault, in any case.
Error build_failure(std::string_view output, std::string_view scratch, int exit_code);
Error build_took_too_long(double seconds);

}  // namespace stitch::device
