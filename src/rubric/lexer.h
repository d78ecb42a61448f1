// CUDA, C++ and Python as tokens: what a program says once comments, docstrings and #if 0 are gone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stitch::rubric {

enum class Language : uint8_t { cuda, python };

struct Token {
  enum Kind : uint8_t {
    word,
    number,
    string,       // with prefix and quotes
    punctuation,  // longest first: <<< >>> :: -> += …
    pragma,       // a whole #pragma line
    newline,      // Python: the end of a statement
  };
  Kind kind = word;
  uint32_t line = 0;
  uint32_t indent = 0;    // Python, of a newline: the next statement's
  std::string_view text;  // of the source

  // One of these.
  bool is(const auto&... wanted) const { return kind != string && ((text == wanted) || ...); }
};

// Views point into the source, which has to outlive this.
struct Lexed {
  std::vector<Token> tokens;
  std::string code;                        // the text without comments, docstrings, #if 0 and empty lines
  std::vector<std::string_view> includes;  // <header> and "header", with their brackets
  // The replacement lists of #define, by name: tokens of their own, so that braces in them don't count.
  std::map<std::string, std::vector<Token>, std::less<>> macros;
};

// Never fails: unbalanced quotes end with the line or the text, bytes that are no text are skipped.
Lexed lex(std::string_view source, Language language);

inline bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}
// The text between a string token's quotes.
std::string_view inside(const Token& string);
// Does a Python string hold CUDA or C++ for a compiler?
bool holds_cuda(std::string_view text);

}  // namespace stitch::rubric
