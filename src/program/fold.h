// Lines of generated code that are too long, broken where clang-format (Google's style) breaks them.
#pragma once

#include <string>
#include <string_view>

namespace stitch {

constexpr size_t generated_columns = 110;

// Whitespace changes and nothing else: arguments go on below the first one, operators end a line, comments
// wrap, and a trailing comment without room moves above its line. What has no such place stays long.
std::string fold(std::string_view source, size_t columns = generated_columns);

}  // namespace stitch
