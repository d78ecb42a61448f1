// The one place where expressions and statements become text: parentheses where needed or helpful, lines of
// at most 110 columns.
#pragma once

#include "code/expression/statement.h"

namespace stitch::code {

std::string text_of(const Expression& expression);
// Each line indented by `indent` columns; #pragmas at the margin.
std::string text_of(const Block& block, size_t indent);

}  // namespace stitch::code
