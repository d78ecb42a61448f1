#include "code/family/tokens.h"

#include <algorithm>
#include <cctype>

namespace stitch::code {

namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t end_of(std::string_view source, size_t at, Token::Kind kind) {
  size_t end = at + 1;
  switch (kind) {
    case Token::comment:
      return source[at + 1] == '/' ? std::min(source.find('\n', at), source.size())
                                   : std::min(source.find("*/", at + 2), source.size() - 2) + 2;
    case Token::literal:
      if (source.substr(at, 2) == "R\"") {
        const size_t open = source.find('(', at);
        const std::string close = ")" + std::string(source.substr(at + 2, open - at - 2)) + "\"";
        return std::min(source.find(close, open), source.size() - close.size()) + close.size();
      }
      for (; end < source.size() && source[end] != source[at]; ++end)
        if (source[end] == '\\') ++end;
      return std::min(end + 1, source.size());
    case Token::number:
      for (; end < source.size(); ++end) {
        const bool exponent =
            (source[end - 1] == 'e' || source[end - 1] == 'E') && source.substr(at, 2) != "0x";
        if (is_letter(source[end]) || source[end] == '.' ||
            (exponent && (source[end] == '-' || source[end] == '+')))
          continue;
        break;
      }
      return end;
    case Token::word:
      while (end < source.size() && is_letter(source[end])) ++end;
      return end;
    case Token::mark: return source.substr(at, 2) == "::" || source.substr(at, 2) == "->" ? at + 2 : end;
  }
  return end;
}

Token::Kind kind_at(std::string_view source, size_t at) {
  const char c = source[at];
  const std::string_view two = source.substr(at, 2);
  if (two == "//" || two == "/*") return Token::comment;
  if (c == '"' || c == '\'' || two == "R\"") return Token::literal;
  if (is_digit(c) || (c == '.' && two.size() == 2 && is_digit(two[1]))) return Token::number;
  return is_letter(c) ? Token::word : Token::mark;
}

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
  std::vector<Token> out;
  for (size_t at = 0;;) {
    const size_t begin = at;
    while (at < source.size() && std::isspace(static_cast<unsigned char>(source[at]))) ++at;
    const std::string_view space = source.substr(begin, at - begin);
    if (at == source.size()) {
      out.push_back({Token::mark, space, {}});  // the end
      return out;
    }
    const Token::Kind kind = kind_at(source, at);
    const size_t end = end_of(source, at, kind);
    out.push_back({kind, space, source.substr(at, end - at)});
    at = end;
  }
}

}  // namespace stitch::code
