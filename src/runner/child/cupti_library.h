// CUPTI, looked up when it is needed: a machine without CUDA doesn't have it.
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/format.h"

namespace stitch::runner {

struct CuptiLibrary {
  void* handle = nullptr;
  std::string trouble;  // why there is none; empty: it is there, and of the version of our headers
};
const CuptiLibrary& cupti_library();

// Of the library; `trouble` names what it lacks.
template <class Function>
void find_in_cupti(Function& function, const char* name, std::string& trouble) {
  function = reinterpret_cast<Function>(::dlsym(cupti_library().handle, name));
  if (!function) trouble = format("CUPTI lacks {}", name);
}

}  // namespace stitch::runner
