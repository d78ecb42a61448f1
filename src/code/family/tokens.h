// Generated C++ as tokens, each with the space before it: what they print is the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stitch::code {

struct Token {
  enum Kind : uint8_t { word, number, literal, comment, mark } kind;
  std::string_view space, text;  // of the source, which outlives the token

  bool is(std::string_view other) const { return text == other; }
};

std::vector<Token> tokens_of(std::string_view source);

}  // namespace stitch::code
