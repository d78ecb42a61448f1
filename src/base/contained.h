// Where a bug is caught below main: around a piece of work that must not take others along, such as a step of
// optimize or one of many imports.
#pragma once

#include <exception>
#include <utility>

#include "base/error_codes.h"
#include "base/result.h"

namespace stitch {

// Whatever `work` throws comes back as an Error of code "bug".
template <class Work>
auto contained(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception& bug) {
    return work_error(error_code::bug, format("a bug in stitchcuda: {}", bug.what()));
  }
}

}  // namespace stitch
