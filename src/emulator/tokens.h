// Just enough C++ lexing to find launches: words, punctuation, and which text is active.
#pragma once

#include <string_view>
#include <vector>

#include "emulator/tokens.h"

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

// Navigation over tokens: brackets and their partners.
class TokenView {
 public:
  explicit TokenView(std::string_view source) : source_(source), tokens_(tokenize(source)) {}

 protected:
  std::string_view text(size_t i) const {
    return i < tokens_.size() ? source_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin)
                              : std::string_view();
  }
  bool is(size_t i, std::string_view what) const { return text(i) == what; }
  bool is_word(size_t i) const { return i < tokens_.size() && tokens_[i].kind == Token::word; }
  // Without space between: `::`, `->`, `<<<`.
  bool adjacent(size_t i, size_t j) const { return j < tokens_.size() && tokens_[i].end == tokens_[j].begin; }

  // The index after the closing bracket of the one at i; the number of tokens if there is none.
  size_t behind_group(size_t i) const {
    int depth = 0;
    for (; i < tokens_.size(); ++i) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) ++depth;
      if ((is(i, ")") || is(i, "]") || is(i, "}")) && --depth == 0) return i + 1;
    }
    return i;
  }
  // The index of the bracket that opens the group closed at i, or npos.
  size_t group_start(size_t i) const {
    int depth = 0;
    for (size_t k = i + 1; k-- > 0;) {
      if (is(k, ")") || is(k, "]") || is(k, "}")) ++depth;
      if ((is(k, "(") || is(k, "[") || is(k, "{")) && --depth == 0) return k;
    }
    return npos;
  }
  size_t template_start(size_t i) const {
    int depth = 0;
    for (size_t k = i + 1; k-- > 0;) {
      if (is(k, ")") || is(k, "]") || is(k, "}")) {
        k = group_start(k);
        if (k == npos) return npos;
      } else if (is(k, ">")) {
        ++depth;
      } else if (is(k, "<") && --depth == 0) {
        return k;
      } else if (is(k, ";")) {
        return npos;
      }
    }
    return npos;
  }
  // After `<…>` at i, or i if there is none.
  size_t behind_template(size_t i) const {
    if (!is(i, "<")) return i;
    int depth = 0;
    for (size_t k = i; k < tokens_.size(); ++k) {
      if (is(k, "(") || is(k, "[") || is(k, "{")) {
        k = behind_group(k) - 1;
      } else if (is(k, "<")) {
        ++depth;
      } else if (is(k, ">") && --depth == 0) {
        return k + 1;
      } else if (is(k, ";")) {
        return i;
      }
    }
    return i;
  }

  static constexpr size_t npos = static_cast<size_t>(-1);
  std::string_view source_;
  std::vector<Token> tokens_;
};

}  // namespace stitch::emulated
