// One small mistake in a program's source, of the kinds that people and language models make.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stitch::mutants {

enum class Kind : uint8_t {
  constant,     // a number is another one
  index,        // one element further
  bound,        // one step too many or too few
  epsilon,      // the small number against division by zero
  arithmetic,   // + for -, max for min, && for ||
  barrier,      // __syncthreads(), a wait, a fence left out
  axis,         // x for y, quotient for remainder, two dimensions in the other order
  tile,         // every second step of a loop
  tail,         // the last row, the last block
  accumulator,  // a sum in fp16
  stride,       // rows one element apart from where they are
  term,         // a summand, a statement, a function left out
  state,        // what one call leaves for the next
};
inline constexpr std::array all_kinds = {Kind::constant,   Kind::index,       Kind::bound,  Kind::epsilon,
                                         Kind::arithmetic, Kind::barrier,     Kind::axis,   Kind::tile,
                                         Kind::tail,       Kind::accumulator, Kind::stride, Kind::term,
                                         Kind::state};
std::string_view name(Kind kind);

// Source text [begin, end) becomes `text`.
struct Mutation {
  Kind kind = Kind::constant;
  size_t begin = 0, end = 0;
  std::string text;
  uint32_t line = 0;
  std::string include;  // a header that the new text needs

  bool operator==(const Mutation&) const = default;
};

// Every one that the rules know, in the order of the text; none twice. Never fails: what is no CUDA has none.
std::vector<Mutation> mutations_of(std::string_view source);

std::string applied(std::string_view source, const Mutation& mutation);
// The line as it was and as it is, for people: "sum += x[i];  ->  sum -= x[i];".
struct Change {
  std::string before, after;
};
Change change_of(std::string_view source, const Mutation& mutation);

}  // namespace stitch::mutants
