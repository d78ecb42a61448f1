// The last look at generated text: what nobody uses is left out, and lines end where a reader's window does.
#pragma once

#include <string>

namespace stitch::code::loops {

// Without constants and held values that nothing mentions. Their initialisers have no effects.
std::string without_unused(const std::string& body);
// Statements longer than 110 columns go on in the next line, under the bracket that they stand in.
std::string folded(const std::string& text);

}  // namespace stitch::code::loops
