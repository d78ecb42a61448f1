// Just enough C++ lexing to find launches: words, punctuation, and which text is active.
#pragma once

#include <string_view>
#include <vector>

namespace stitch::emulated {

struct Token {
  enum Kind : unsigned char { word, number, string, character, punctuation };
  Kind kind;
  size_t begin, end;  // in the source
  unsigned line;
  bool in_macro;  // part of a #define's replacement list
};

// The tokens of active text. Comments and preprocessor lines give none, except the replacement lists of
// #define. Punctuation is one character per token, since `>>` may close two templates.
std::vector<Token> tokenize(std::string_view source);

// The value of an #if condition on the emulated GPU (STITCH_EMULATED is 1, __CUDA_ARCH__ undefined): 1, 0, or
// -1 if it depends on other macros.
int evaluate_condition(std::string_view condition);

}  // namespace stitch::emulated
