// Texts made smaller for the store: sources and verdicts shrink to a quarter.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch::store {

struct Packed {
  std::string bytes;
  bool zlib = false;  // else as they were
};
// As it is where zlib is not there or gains nothing.
Packed pack(std::string_view text);
// `size`: of the text.
Result<std::string> unpack(std::string packed, bool zlib, size_t size);

}  // namespace stitch::store
