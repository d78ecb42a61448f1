// Small grammar: "1 trial", "2 trials"; "an H200", "a B200".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/format.h"

namespace stitch {

// `many`: empty is `one` with an s.
inline std::string counted(int64_t count, std::string_view one, std::string_view many = "") {
  return format("{} {}{}", count, count == 1 || many.empty() ? one : many,
                count != 1 && many.empty() ? "s" : "");
}

// By how the first letter of a product's name is spoken: an H200, an RTX 4090, a B200.
inline std::string with_article(std::string_view name) {
  const bool vowel =
      !name.empty() && std::string_view("AEFHILMNORSX8").find(name[0]) != std::string_view::npos;
  return format("{} {}", vowel ? "an" : "a", name);
}

}  // namespace stitch
