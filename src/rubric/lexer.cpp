#include "rubric/lexer.h"

#include <array>
#include <utility>

namespace stitch::rubric {

namespace {

bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

constexpr std::array<std::string_view, 26> long_punctuation = {
    "<<<", ">>>", "<<=", ">>=", "...", "**=", "//=", "::", "->", "+=", "-=", "*=", "/=",
    "%=",  "&=",  "|=",  "^=",  "==",  "!=",  "<=",  ">=", "&&", "||", "++", "--", ":="};

// Lines of nothing but blanks go, and blanks at the ends of lines.
std::string without_empty_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    size_t last = end;
    while (last > begin && is_blank(text[last - 1])) --last;
    if (last > begin) out.append(text.substr(begin, last - begin)) += '\n';
    begin = end + 1;
  }
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, Language language) : source_(source), python_(language == Language::python) {
    if (source_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    code_.reserve(source_.size());
  }

  Lexed run() {
    while (at_ < source_.size()) step();
    end_statement(0);
    out_.code = without_empty_lines(code_);
    return std::move(out_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  bool looking_at(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void step() {
    const char c = peek();
    if (c == '\n') return line_end();
    if (is_blank(c)) return keep(1);
    if (c == '\\' && (peek(1) == '\n' || looking_at("\\\r\n"))) return splice();
    if (python_ ? c == '#' : looking_at("//")) return line_comment();
    if (!python_ && looking_at("/*")) return block_comment();
    if (!python_ && c == '#' && fresh_line_) return directive();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (size_t prefix = 0; starts_string(prefix)) return string(prefix);
    if (is_word_start(c)) return word();
    if (static_cast<unsigned char>(c) < 0x20) return skip(1);
    punctuation();
  }

  void keep(size_t count) {
    code_ += source_.substr(at_, count);
    at_ += count;
  }
  void skip(size_t count) { at_ += count; }

  void add(Token::Kind kind, size_t begin, uint32_t line) {
    out_.tokens.push_back({kind, line, 0, source_.substr(begin, at_ - begin)});
    fresh_line_ = false;
  }

  void line_end() {
    keep(1);
    ++line_;
    fresh_line_ = true;
    if (!python_ || depth_ > 0) return;
    size_t indent = 0, ahead = at_;
    while (ahead < source_.size() && is_blank(source_[ahead])) indent += source_[ahead++] == '\t' ? 8 : 1;
    const bool empty = ahead >= source_.size() || source_[ahead] == '\n' || source_[ahead] == '#';
    if (!empty) end_statement(static_cast<uint32_t>(indent));
  }

  void end_statement(uint32_t indent) {
    if (!python_) return;
    if (!out_.tokens.empty() && out_.tokens.back().kind == Token::newline)
      out_.tokens.back().indent = indent;
    else
      out_.tokens.push_back({Token::newline, line_, indent, {}});
  }

  void splice() {
    at_ = source_.find('\n', at_) + 1;
    ++line_;
    code_ += '\n';
  }

  void line_comment() {
    // In C++ a backslash at its end carries the comment on.
    while (at_ < source_.size() && peek() != '\n') {
      if (!python_ && peek() == '\\' && (peek(1) == '\n' || looking_at("\\\r\n"))) {
        at_ = source_.find('\n', at_);
        ++line_;
      }
      ++at_;
    }
  }

  void block_comment() {
    const size_t end = source_.find("*/", at_ + 2);
    const size_t next = end == std::string_view::npos ? source_.size() : end + 2;
    const auto lines = std::count(source_.begin() + static_cast<ptrdiff_t>(at_),
                                  source_.begin() + static_cast<ptrdiff_t>(next), '\n');
    line_ += static_cast<uint32_t>(lines);
    code_.append(lines > 0 ? 1 : 0, '\n') += ' ';
    at_ = next;
  }

  // A whole logical line of the preprocessor, its comments left out.
  void directive() {
    const uint32_t line = line_;
    const size_t begin = at_, kept = code_.size();
    while (at_ < source_.size() && peek() != '\n') {
      if (peek() == '\\' && (peek(1) == '\n' || looking_at("\\\r\n")))
        splice();
      else if (looking_at("//"))
        line_comment();
      else if (looking_at("/*"))
        block_comment();
      else if (peek() == '"')
        quoted_in_directive();
      else
        keep(1);
    }
    std::string_view text = source_.substr(begin, at_ - begin);
    size_t name_at = 1;
    while (name_at < text.size() && is_blank(text[name_at])) ++name_at;
    size_t name_end = name_at;
    while (name_end < text.size() && is_word(text[name_end])) ++name_end;
    const std::string_view name = text.substr(name_at, name_end - name_at);
    const std::string_view rest = text.substr(name_end);
    if (name == "pragma") out_.tokens.push_back({Token::pragma, line, 0, text});
    if (name == "include") include(rest);
    if (name == "define") define(rest);
    if (name == "if" && is_zero(rest)) {
      code_.resize(kept);
      dead_text();
    }
    // Of an #if … #else, both are alive, unless the first was `#if 1`.
  }

  void quoted_in_directive() {
    keep(1);
    while (at_ < source_.size() && peek() != '"' && peek() != '\n')
      keep(peek() == '\\' && peek(1) != '\n' && at_ + 1 < source_.size() ? 2 : 1);
    if (peek() == '"') keep(1);
  }

  static bool is_zero(std::string_view condition) {
    size_t begin = 0, end = condition.size();
    while (begin < end && is_blank(condition[begin])) ++begin;
    if (size_t comment = condition.find('/'); comment != std::string_view::npos) end = std::min(end, comment);
    while (end > begin && is_blank(condition[end - 1])) --end;
    const std::string_view word = condition.substr(begin, end - begin);
    return word == "0" || word == "false";
  }

  // Up to the #else, #elif or #endif of an #if 0.
  void dead_text() {
    int depth = 0;
    while (at_ < source_.size()) {
      const size_t end = std::min(source_.find('\n', at_), source_.size());
      std::string_view text = source_.substr(at_, end - at_);
      at_ = std::min(end + 1, source_.size());
      ++line_;
      while (!text.empty() && is_blank(text[0])) text.remove_prefix(1);
      if (!text.starts_with("#")) continue;
      text.remove_prefix(1);
      while (!text.empty() && is_blank(text[0])) text.remove_prefix(1);
      if (text.starts_with("if")) ++depth;
      if (depth == 0 && (text.starts_with("else") || text.starts_with("elif") || text.starts_with("endif")))
        break;
      if (text.starts_with("endif")) --depth;
    }
    fresh_line_ = true;
  }

  void include(std::string_view rest) {
    const size_t begin = rest.find_first_of("<\"");
    if (begin == std::string_view::npos) return;
    const size_t end = rest.find(rest[begin] == '<' ? '>' : '"', begin + 1);
    if (end != std::string_view::npos) out_.includes.push_back(rest.substr(begin, end - begin + 1));
  }

  void define(std::string_view rest) {
    size_t begin = 0;
    while (begin < rest.size() && is_blank(rest[begin])) ++begin;
    size_t end = begin;
    while (end < rest.size() && is_word(rest[end])) ++end;
    if (end == begin || nested_) return;
    Lexer body(rest.substr(end), Language::cuda);
    body.nested_ = true;
    body.fresh_line_ = false;
    out_.macros[std::string(rest.substr(begin, end - begin))] = body.run().tokens;
  }

  void number() {
    const size_t begin = at_;
    while (is_word(peek()) || peek() == '.' ||
           ((peek() == '+' || peek() == '-') && at_ > begin && exponent(begin)) ||
           (peek() == '\'' && !python_ && is_word(peek(1))))
      keep(1);
    add(Token::number, begin, line_);
  }
  bool exponent(size_t begin) const {
    const char before = source_[at_ - 1];
    const bool hex = source_.substr(begin).starts_with("0x") || source_.substr(begin).starts_with("0X");
    return hex ? before == 'p' || before == 'P' : before == 'e' || before == 'E';
  }

  void word() {
    const size_t begin = at_;
    while (is_word(peek())) keep(1);
    add(Token::word, begin, line_);
  }

  void punctuation() {
    const size_t begin = at_;
    const char c = peek();
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') depth_ = std::max(0, depth_ - 1);
    size_t length = 1;
    const bool may_be_long = std::string_view("<>=-+*/%&|.:^").find(peek(1)) != std::string_view::npos;
    for (std::string_view text : long_punctuation)
      if (may_be_long && looking_at(text)) {
        // >>> closes a launch, or three templates.
        if (text == "<<<" || text == ">>>") {
          if (python_ || (text == ">>>" && launches_ == 0)) continue;
          launches_ += text == "<<<" ? 1 : -1;
        }
        if ((text == "//=" || text == "**=" || text == ":=") && !python_) continue;
        if ((text == ">>=" || text == "<<=") && python_) continue;
        length = text.size();
        break;
      }
    keep(length);
    add(Token::punctuation, begin, line_);
  }

  bool starts_string(size_t& prefix) const {
    while (prefix < 3 && is_word_start(peek(prefix))) ++prefix;
    const char quote = peek(prefix);
    if (quote != '"' && quote != '\'') return false;
    if (prefix == 0) return true;
    std::string_view letters = source_.substr(at_, prefix);
    if (python_) return letters.find_first_not_of("rRbBuUfF") == std::string_view::npos;
    return is_one_of(letters, {"L", "u", "U", "u8", "R", "LR", "uR", "UR", "u8R"});
  }

  void string(size_t prefix) {
    const size_t begin = at_;
    const uint32_t line = line_;
    const bool raw_cpp = !python_ && prefix > 0 && source_[at_ + prefix - 1] == 'R' && peek(prefix) == '"';
    at_ += prefix;
    const char quote = peek();
    const std::string_view three = source_.substr(at_, 3);
    const bool triple = python_ && three.size() == 3 && three[1] == quote && three[2] == quote;
    if (raw_cpp)
      end_raw();
    else if (triple)
      end_triple(three);
    else
      end_plain(quote);
    const std::string_view text = source_.substr(begin, at_ - begin);
    line_ += static_cast<uint32_t>(std::ranges::count(text, '\n'));
    if (is_docstring()) return;
    add(Token::string, begin, line);
    if (python_ && holds_cuda(text)) {
      // The comments inside it go as well.
      const std::string_view body = inside(out_.tokens.back());
      const auto offset = static_cast<size_t>(body.data() - text.data());
      code_ += text.substr(0, offset);
      code_ += lex(body, Language::cuda).code;
      code_ += text.substr(std::min(text.size(), offset + body.size()));
    } else {
      code_ += text;
    }
  }

  void end_raw() {
    const size_t open = source_.find('(', at_);
    const size_t most_delimiter = 18;
    if (open == std::string_view::npos || open - at_ > most_delimiter) return end_plain('"');
    std::string close = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t end = source_.find(close, open);
    at_ = end == std::string_view::npos ? source_.size() : end + close.size();
  }

  void end_triple(std::string_view quotes) {
    at_ += 3;
    while (at_ < source_.size() && !looking_at(quotes)) at_ += peek() == '\\' ? 2 : 1;
    at_ = std::min(source_.size(), at_ + 3);
  }

  void end_plain(char quote) {
    ++at_;
    while (at_ < source_.size() && peek() != quote && peek() != '\n') at_ += peek() == '\\' ? 2 : 1;
    if (at_ < source_.size() && peek() == quote) ++at_;
    at_ = std::min(at_, source_.size());
  }

  // A string that is a statement does nothing: it is a comment.
  bool is_docstring() const {
    if (!python_ || depth_ > 0) return false;
    if (!out_.tokens.empty() && out_.tokens.back().kind != Token::newline) return false;
    size_t ahead = at_;
    while (ahead < source_.size() && is_blank(source_[ahead])) ++ahead;
    return ahead >= source_.size() || source_[ahead] == '\n' || source_[ahead] == '#';
  }

  const std::string_view source_;
  const bool python_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  int depth_ = 0, launches_ = 0;
  bool fresh_line_ = true, nested_ = false;
  std::string code_;
  Lexed out_;
};

}  // namespace

Lexed lex(std::string_view source, Language language) { return Lexer(source, language).run(); }

std::string_view inside(const Token& string) {
  std::string_view text = string.text;
  while (!text.empty() && text[0] != '"' && text[0] != '\'') text.remove_prefix(1);
  if (text.empty()) return text;
  const char quote = text[0];
  const size_t quotes = text.size() >= 6 && text[1] == quote && text[2] == quote ? 3 : 1;
  text.remove_prefix(std::min(quotes, text.size()));
  for (size_t i = 0; i < quotes && !text.empty() && text.back() == quote; ++i) text.remove_suffix(1);
  return text;
}

bool holds_cuda(std::string_view text) {
  if (text.size() < 24) return false;
  for (std::string_view sign : {"__global__", "#include", "torch::", "at::Tensor", "<<<", "__device__"})
    if (text.find(sign) != std::string_view::npos) return true;
  return false;
}

}  // namespace stitch::rubric
