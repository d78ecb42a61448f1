// One small mistake in a program's source, of the kinds that people and language models make.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rubric/lexer.h"

namespace stitch::mutants {

enum class Kind : uint8_t {
  constant,     // a changed number
  index,        // off by one element
  bound,        // one step too many or too few
  epsilon,      // the small number against division by zero
  arithmetic,   // + for -, max for min, && for ||
  barrier,      // __syncthreads(), a wait or a fence missing
  axis,         // x for y, quotient for remainder, two dimensions swapped
  tile,         // every second step of a loop
  tail,         // the last row, the last block
  accumulator,  // a sum in fp16
  stride,       // rows off by one element
  term,         // a summand, statement or function missing
  state,        // state kept from one call to the next
};
inline constexpr std::array all_kinds = {Kind::constant,   Kind::index,       Kind::bound,  Kind::epsilon,
                                         Kind::arithmetic, Kind::barrier,     Kind::axis,   Kind::tile,
                                         Kind::tail,       Kind::accumulator, Kind::stride, Kind::term,
                                         Kind::state};
std::string_view name(Kind kind);

// Replaces source text [begin, end) by `text`.
struct Mutation {
  Kind kind = Kind::constant;
  size_t begin = 0, end = 0;
  std::string text;
  uint32_t line = 0;
  std::string include;  // a header that the new text needs

  bool operator==(const Mutation&) const = default;
};

// All mutations that the rules find, in source order, without repeats. Never fails: text that isn't CUDA has
// none.
std::vector<Mutation> mutations_of(std::string_view source);

std::string applied(std::string_view source, const Mutation& mutation);
// The line before and after, for people: "sum += x[i];  ->  sum -= x[i];".
struct Change {
  std::string before, after;
};
Change change_of(std::string_view source, const Mutation& mutation);

// A source as seen by the rules: tokens with positions, brackets with partners.

class MarkedSource {
 public:
  explicit MarkedSource(std::string_view source);

  size_t size() const { return tokens_.size(); }
  std::string_view text(size_t i) const { return i < size() ? tokens_[i].text : std::string_view(); }
  bool is(size_t i, std::string_view wanted) const { return i < size() && tokens_[i].is(wanted); }
  bool is_word(size_t i) const { return kind(i) == rubric::Token::word; }
  bool is_number(size_t i) const { return kind(i) == rubric::Token::number; }
  uint32_t line(size_t i) const { return tokens_[i].line; }
  size_t begin(size_t i) const { return static_cast<size_t>(tokens_[i].text.data() - source_.data()); }
  size_t end(size_t i) const { return begin(i) + tokens_[i].text.size(); }
  std::string_view between(size_t first, size_t last) const {  // tokens, the last included
    return source_.substr(begin(first), end(last) - begin(first));
  }

  // Of a bracket; otherwise the token itself.
  size_t partner(size_t i) const { return partner_[i]; }
  // The bracket around the token; empty at the top level.
  std::optional<size_t> enclosing(size_t i) const;
  bool in_body(size_t i) const;  // of a function or a type
  // The `(` of the for (…) or if (…) directly around it.
  std::optional<size_t> head_of(size_t i, std::string_view keyword) const;
  // With spaces on both sides, as formatters write binary operators but not template brackets.
  bool is_binary(size_t i) const;
  // A statement's first and last (`;`) token; empty inside a for (…).
  struct Statement {
    size_t first, last;
  };
  std::optional<Statement> statement_of(size_t i) const;

  void add(Kind of, size_t first, size_t last, std::string new_text, std::string include = {});
  std::vector<Mutation> take();

 private:
  rubric::Token::Kind kind(size_t i) const {
    return i < size() ? tokens_[i].kind : rubric::Token::punctuation;
  }

  std::string_view source_;
  rubric::Lexed lexed_;
  const std::vector<rubric::Token>& tokens_;
  std::vector<size_t> partner_, enclosing_;
  std::vector<Mutation> found_;
};

// The rules, one family per file.
void add_number_rules(MarkedSource& source);
void add_loop_rules(MarkedSource& source);
void add_arithmetic_rules(MarkedSource& source);
void add_thread_rules(MarkedSource& source);
void add_state_rules(MarkedSource& source);

}  // namespace stitch::mutants
