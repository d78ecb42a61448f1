#include "emulator/tokens.h"

#include <cctype>
#include <string>
#include <utility>

namespace stitch::emulated {

namespace {

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Three-valued evaluation of #if with partially known macros.
class Condition {
 public:
  explicit Condition(std::string_view text) : text_(text) {}
  int value() {
    int out = either();
    skip();
    return at_ == text_.size() && !lost_ ? out : -1;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view symbol) {
    skip();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  int either() {
    int left = both();
    while (take("||")) {
      int right = both();
      left = left == 1 || right == 1 ? 1 : left == 0 && right == 0 ? 0 : -1;
    }
    return left;
  }
  int both() {
    int left = compare();
    while (take("&&")) {
      int right = compare();
      left = left == 0 || right == 0 ? 0 : left == 1 && right == 1 ? 1 : -1;
    }
    return left;
  }
  int compare() {
    Number left = primary();
    for (std::string_view symbol : {"==", "!=", ">=", "<=", ">", "<"}) {
      if (!take(symbol)) continue;
      Number right = primary();
      if (!left.known || !right.known) return -1;
      if (symbol == "==") return left.value == right.value;
      if (symbol == "!=") return left.value != right.value;
      if (symbol == ">=") return left.value >= right.value;
      if (symbol == "<=") return left.value <= right.value;
      return symbol == ">" ? left.value > right.value : left.value < right.value;
    }
    return left.known ? left.value != 0 : -1;
  }
  struct Number {
    bool known = false;
    long value = 0;
  };
  Number primary() {
    if (take("!")) {
      Number inner = primary();
      return {inner.known, inner.value == 0};
    }
    if (take("(")) {
      int inner = either();
      lost_ |= !take(")");
      return {inner >= 0, inner};
    }
    skip();
    size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) {
      lost_ = true;  // not understood: the whole is unknown
      return {};
    }
    if (word == "defined") {
      bool bracket = take("(");
      skip();
      begin = at_;
      while (at_ < text_.size() && in_word(text_[at_])) ++at_;
      word = text_.substr(begin, at_ - begin);
      if (bracket && !take(")")) return {};
      if (word == "STITCH_EMULATED" || word == "__CUDACC__") return {true, 1};
      return {word == "__CUDA_ARCH__", 0};
    }
    if (word == "STITCH_EMULATED") return {true, 1};
    if (word == "__CUDA_ARCH__") return {true, 0};
    if (std::isdigit(static_cast<unsigned char>(word[0])))
      return {true, std::strtol(std::string(word).c_str(), nullptr, 0)};
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  bool lost_ = false;
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(source) {}

  std::vector<Token> run() {
    bool line_start = true;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') {
        newline();
        line_start = true;
        in_macro_ = false;
      } else if (c == '\\' && follows_newline(at_ + 1)) {
        skip_continuation();
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
      } else if (peek("//")) {
        skip_line_comment();
      } else if (peek("/*")) {
        skip_block_comment();
      } else if (c == '#' && line_start) {
        directive();
      } else {
        line_start = false;
        token();
      }
    }
    return std::move(tokens_);
  }

 private:
  struct Branch {
    bool outer_alive;
    int taken;  // 1: some branch was certainly taken; 0: none so far; -1: unknown
  };

  bool peek(std::string_view s) const { return text_.substr(at_, s.size()) == s; }
  bool follows_newline(size_t at) const {
    if (at < text_.size() && text_[at] == '\r') ++at;
    return at < text_.size() && text_[at] == '\n';
  }
  void newline() {
    ++at_;
    ++line_;
  }
  void skip_continuation() {
    while (text_[at_] != '\n') ++at_;
    newline();
  }
  void skip_line_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      if (text_[at_] == '\\' && follows_newline(at_ + 1))
        skip_continuation();
      else
        ++at_;
    }
  }
  void skip_block_comment() {
    at_ += 2;
    while (at_ < text_.size() && !peek("*/")) text_[at_] == '\n' ? newline() : void(++at_);
    at_ = std::min(at_ + 2, text_.size());
  }

  void add(Token::Kind kind, size_t begin, unsigned line) {
    if (alive_) tokens_.push_back({kind, begin, at_, line, in_macro_});
  }

  void token() {
    const size_t begin = at_;
    const unsigned line = line_;
    char c = text_[at_];
    if (starts_word(c)) {
      while (at_ < text_.size() && in_word(text_[at_])) ++at_;
      std::string_view word = text_.substr(begin, at_ - begin);
      if (at_ < text_.size() && text_[at_] == '"' &&
          (word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR")) {
        raw_string();
        return add(Token::string, begin, line);
      }
      if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'') &&
          (word == "L" || word == "u8" || word == "u" || word == "U")) {
        c = text_[at_];
        quoted(c);
        return add(c == '"' ? Token::string : Token::character, begin, line);
      }
      return add(Token::word, begin, line);
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      // Digits, letters, dots, exponents' signs, and the separators of 1'000.
      while (
          at_ < text_.size() &&
          (in_word(text_[at_]) || text_[at_] == '.' ||
           (text_[at_] == '\'' && at_ + 1 < text_.size() && in_word(text_[at_ + 1])) ||
           ((text_[at_] == '+' || text_[at_] == '-') &&
            std::string_view("eEpP").find(text_[at_ - 1]) != std::string_view::npos && !hexadecimal(begin))))
        ++at_;
      return add(Token::number, begin, line);
    }
    if (c == '"' || c == '\'') {
      quoted(c);
      return add(c == '"' ? Token::string : Token::character, begin, line);
    }
    ++at_;
    add(Token::punctuation, begin, line);
  }
  bool hexadecimal(size_t begin) const {
    return text_.substr(begin, 2) == "0x" && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
  }
  void quoted(char quote) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      text_[at_] == '\n' ? newline() : void(++at_);
    }
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
  }
  void raw_string() {
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) {
      at_ = text_.size();
      return;
    }
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t end = text_.find(close, open);
    const size_t stop = end == std::string_view::npos ? text_.size() : end + close.size();
    while (at_ < stop) text_[at_] == '\n' ? newline() : void(++at_);
  }

  // A preprocessor line. Only a #define leaves the rest of its line to be read as tokens.
  void directive() {
    ++at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    const size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name == "define" && alive_) {
      in_macro_ = true;
      return;
    }
    std::string rest;
    while (at_ < text_.size() && text_[at_] != '\n') {
      if (text_[at_] == '\\' && follows_newline(at_ + 1)) {
        skip_continuation();
      } else if (peek("//")) {
        skip_line_comment();
      } else if (peek("/*")) {
        skip_block_comment();
        rest += ' ';
      } else {
        rest += text_[at_++];
      }
    }
    conditional(name, rest);
  }
  void conditional(std::string_view name, const std::string& rest) {
    if (name == "if" || name == "ifdef" || name == "ifndef") {
      int value = name == "if"      ? evaluate_condition(rest)
                  : name == "ifdef" ? evaluate_condition("defined " + rest)
                                    : evaluate_condition("!defined " + rest);
      branches_.push_back({alive_, value});
      alive_ = alive_ && value != 0;
    } else if ((name == "elif" || name == "else") && !branches_.empty()) {
      Branch& branch = branches_.back();
      int value = name == "else" ? 1 : evaluate_condition(rest);
      alive_ = branch.outer_alive && branch.taken != 1 && value != 0;
      if (branch.taken == 0) branch.taken = value;
    } else if (name == "endif" && !branches_.empty()) {
      alive_ = branches_.back().outer_alive;
      branches_.pop_back();
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  unsigned line_ = 1;
  bool alive_ = true, in_macro_ = false;
  std::vector<Branch> branches_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

int evaluate_condition(std::string_view condition) { return Condition(condition).value(); }

}  // namespace stitch::emulated
