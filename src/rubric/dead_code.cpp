// What of a function's body does nothing: statements that no call reaches, and in kernels those whose values
// go nowhere. A compiler throws them away, so no technique in them counts.
#include <algorithm>
#include <array>
#include <set>

#include "rubric/units.h"

namespace stitch::rubric {

namespace {

constexpr size_t most_statements = 20'000;

class DeadCode {
 public:
  DeadCode(const Unit& unit, const Function& function)
      : tokens_(unit.lexed.tokens),
        match_(unit.match),
        function_(function),
        end_(std::min(function.end, unit.lexed.tokens.size())) {}

  std::vector<size_t> run() {
    find_unreachable();
    if (function_.kernel || function_.device) {
      for (size_t begin = function_.begin; begin < end_ && statements_.size() < most_statements;)
        begin = read(begin) + 1;
      if (statements_.size() < most_statements) find_unused();
    }
    return std::move(out_);
  }

 private:
  // [begin, end) without what controls it. A target that isn't the function's own is no target: it is an
  // effect.
  struct Statement {
    size_t begin = 0, end = 0;
    std::string_view target;
    bool effect = false;
  };

  const Token& at(size_t i) const {
    static const Token none{};
    return i < tokens_.size() ? tokens_[i] : none;
  }
  size_t behind(size_t bracket) const {
    return match_[bracket] < end_ && match_[bracket] > bracket ? match_[bracket] + 1 : end_;
  }
  bool is_unreachable(size_t i) const {
    for (size_t r = 0; r + 1 < out_.size(); r += 2)
      if (out_[r] <= i && i < out_[r + 1]) return true;
    return false;
  }

  // if (false) …, while (0) …, and whatever stands behind a return that no condition guards.
  void find_unreachable() {
    for (size_t i = function_.begin; i < end_; ++i) {
      const size_t open = at(i + 1).is("constexpr") ? i + 2 : i + 1;
      if (!at(i).is("if", "while") || open + 3 >= end_ || !at(open).is("(") || !at(open + 2).is(")") ||
          !at(open + 1).is("false", "0") || (i > 0 && at(i).is("while") && at(i - 1).is("}")))
        continue;
      size_t last = open + 3;
      if (at(last).is("{"))
        last = behind(last) - 1;
      else
        while (last < end_ && !at(last).is(";")) ++last;
      out_.insert(out_.end(), {i, last});
      i = last;
    }
    int depth = 0;
    for (size_t i = function_.begin; i < end_; ++i) {
      if (at(i).is("{")) ++depth;
      if (at(i).is("}")) --depth;
      const bool free = i == function_.begin || at(i - 1).is(";", "{", "}");
      if (depth != 0 || !free || !at(i).is("return")) continue;
      while (i < end_ && !at(i).is(";")) ++i;
      if (i + 1 < end_) out_.insert(out_.end(), {i + 1, end_});
      break;
    }
  }

  // One statement from `begin`; returns where it ends. What controls it is used.
  size_t read(size_t begin) {
    while (begin < end_) {
      if (at(begin).is("if", "for", "while", "switch")) {
        const size_t open = at(begin + 1).is("constexpr") ? begin + 2 : begin + 1;
        if (!at(open).is("(")) break;
        use(begin, behind(open));
        begin = behind(open);
      } else if (at(begin).is("else", "do") || at(begin).kind == Token::pragma) {
        ++begin;
      } else {
        break;
      }
    }
    size_t end = begin, assign = end_;
    bool several = false;
    while (end < end_ && !at(end).is(";", "{", "}")) {
      if (at(end).is("=", "+=", "-=", "*=", "/=")) assign = std::min(assign, end);
      several |= at(end).is(",");
      end = at(end).is("(", "[") ? behind(end) : end + 1;
      if (at(end).is("{") && at(end - 1).is("=")) end = behind(end);
    }
    if (end > begin && !is_unreachable(begin)) statements_.push_back(statement(begin, end, assign, several));
    return end;
  }

  Statement statement(size_t begin, size_t end, size_t assign, bool several) {
    Statement out{begin, end, {}, true};
    if (at(begin).is("return", "asm", "goto", "case", "break", "continue", "using")) return out;
    const size_t head = std::min(assign, end);
    size_t name = begin;
    bool plain = true;  // no pointer, no reference, no call: what is assigned to is the name's own
    size_t words = 0;
    for (size_t i = begin; i < head; ++i) {
      if (at(i).is("[")) {
        i = behind(i) - 1;
        continue;
      }
      plain &= !at(i).is("*", "&", "(", "->", "auto", "++", "--");
      if (at(i).is(".")) break;
      if (at(i).kind == Token::word) name = i, ++words;
    }
    if (assign >= end && !plain) {
      out.effect = !is_pure_call(begin, end);
      return out;
    }
    if (!plain || several || at(name).kind != Token::word) return out;
    out.target = at(name).text;
    out.effect = false;
    if (words > 1) own_.insert(out.target);  // a declaration: its type stands before it
    return out;
  }

  // Its value is thrown away, and it does nothing else.
  bool is_pure_call(size_t begin, size_t end) const {
    const std::string_view word = at(begin).text;
    return at(begin + 1).is("(") && behind(begin + 1) >= end &&
           (word.starts_with("__shfl_") || word.starts_with("__reduce_") || word == "__ldg" ||
            word == "__expf");
  }

  void use(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      if (at(i).kind == Token::word) used_.insert(at(i).text);
  }

  void find_unused() {
    std::vector<const Statement*> waiting;
    for (const Statement& each : statements_) {
      const bool own = !each.target.empty() && own_.contains(each.target);
      if (each.effect || (!each.target.empty() && !own))
        use(each.begin, each.end);
      else
        waiting.push_back(&each);
    }
    // What is used makes what it was made of used.
    for (size_t before = 0; before != waiting.size();) {
      before = waiting.size();
      std::erase_if(waiting, [&](const Statement* each) {
        if (each->target.empty() || !used_.contains(each->target)) return false;
        use(each->begin, each->end);
        return true;
      });
    }
    for (const Statement* each : waiting) out_.insert(out_.end(), {each->begin, each->end});
  }

  const std::vector<Token>& tokens_;
  const std::vector<size_t>& match_;
  const Function& function_;
  const size_t end_;
  std::vector<size_t> out_;
  std::vector<Statement> statements_;
  std::set<std::string_view> own_, used_;
};

}  // namespace

std::vector<size_t> dead_ranges(const Unit& unit, const Function& function) {
  return DeadCode(unit, function).run();
}

}  // namespace stitch::rubric
