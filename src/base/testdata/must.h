// For tests: the value of what has to go well.
#pragma once

#include <type_traits>
#include <utility>

#include "base/result.h"

namespace stitch {

// Throws, and so fails the test, with the error's text.
template <class T>
T must(Result<T> result, SourcePlace place = SourcePlace::here()) {
  if (!result) throw Bug(result.error().text(), place);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace stitch
