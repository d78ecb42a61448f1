// One small mistake in a program's source, of the kinds that people and language models make.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace stitch::mutants
