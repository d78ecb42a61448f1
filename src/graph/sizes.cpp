#include "graph/sizes.h"

#include <cctype>

#include "base/text.h"

namespace stitch {

namespace {

// By recursive descent; the first mistake ends it.
class Formula {
 public:
  Formula(std::string_view text, const Sizes& sizes) : text_(text), sizes_(sizes) {}

  Result<int64_t> evaluate() {
    const int64_t value = sum(0);
    skip_spaces();
    if (error_.empty() && at_ < text_.size()) fail("an operator is expected");
    if (error_.empty()) return value;
    return user_error("formula", format("'{}' at {}: {}", text_, at_, error_));
  }

 private:
  static constexpr int deepest = 64;

  int64_t fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    return 0;
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  int64_t sum(int depth) {
    int64_t out = product(depth);
    while (error_.empty())
      if (take('+')) {
        if (__builtin_add_overflow(out, product(depth), &out)) fail("too large");
      } else if (take('-')) {
        if (__builtin_sub_overflow(out, product(depth), &out)) fail("too large");
      } else {
        break;
      }
    return out;
  }

  int64_t product(int depth) {
    int64_t out = factor(depth);
    while (error_.empty())
      if (take('*')) {
        if (__builtin_mul_overflow(out, factor(depth), &out)) fail("too large");
      } else if (take('/')) {
        const int64_t by = factor(depth);
        if (by <= 0) return fail("division by what isn't positive");
        out /= by;
      } else {
        break;
      }
    return out;
  }

  int64_t factor(int depth) {
    if (depth > deepest) return fail("too many parentheses");
    if (take('(')) {
      const int64_t out = sum(depth + 1);
      return take(')') ? out : fail("')' is expected");
    }
    if (take('-')) return -factor(depth + 1);
    size_t end = at_;
    auto is_word = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) return fail("a number or a name is expected");
    at_ = end;
    if (const auto number = parse_integer(word)) return *number;
    const auto found = sizes_.find(word);
    return found != sizes_.end() ? found->second : fail(format("there is no size '{}'", word));
  }

  std::string_view text_;
  const Sizes& sizes_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace

std::string text(const Sizes& sizes) {
  std::string out;
  for (const auto& [name, size] : sizes) out += format("{}{}={}", out.empty() ? "" : ", ", name, size);
  return out;
}

std::string text(const Dimension& dimension) {
  std::string out = format("{}={}..{}", dimension.name, dimension.least, dimension.most);
  return dimension.multiple > 1 ? out + format(" by {}", dimension.multiple) : out;
}

Result<int64_t> evaluate_size(std::string_view formula, const Sizes& sizes) {
  return Formula(formula, sizes).evaluate();
}

}  // namespace stitch
