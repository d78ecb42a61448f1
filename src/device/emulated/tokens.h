// Just enough of C++'s lexical structure to find launches: words, punctuation, and which text is alive.
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

// The tokens of the living text. Comments and preprocessor lines give none, except the replacement lists of
// #define. Punctuation comes one character at a time, `>>` being two closings of templates as often as a
// shift.
std::vector<Token> tokenize(std::string_view source);

// What #if's condition is on the emulated GPU (STITCH_EMULATED is 1, __CUDA_ARCH__ is not defined) if that
// alone decides it: 1, 0, or -1 for unknown.
int evaluate_condition(std::string_view condition);

}  // namespace stitch::emulated
