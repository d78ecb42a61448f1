// CUPTI, loaded at run time: a machine without CUDA doesn't have it.
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/format.h"

namespace stitch::runner {

struct CuptiLibrary {
  void* handle = nullptr;
  std::string trouble;  // why it can't be used; empty: available, and of our headers' version
};
const CuptiLibrary& cupti_library();

// Resolves a function; `trouble` names what is missing.
template <class Function>
void find_in_cupti(Function& function, const char* name, std::string& trouble) {
  function = reinterpret_cast<Function>(::dlsym(cupti_library().handle, name));
  if (!function) trouble = format("CUPTI lacks {}", name);
}

}  // namespace stitch::runner
