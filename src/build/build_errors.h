// Shortens compiler output: each error once, the first one first.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch::build {

// "file:line: message" with context for the errors of nvcc, g++, clang++, ptxas or ld. Removes the prefix
// `scratch`. Output without a known error is truncated.
std::string shortened_errors(std::string_view output, std::string_view scratch);

// A failed compiler run, as an error of the sources.
Error build_failure(std::string_view output, std::string_view scratch, int exit_code);
Error build_took_too_long(double seconds);

}  // namespace stitch::build
