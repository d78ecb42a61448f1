// Rewrites CUDA source to C++ for a host compiler, keeping line numbers:
//   kernel<T><<<grid, block>>>(…)                  →  STITCH_KERNEL(kernel<T>).on(grid, block)(…)
//   extern __shared__ T name[];                    →  a pointer to the block's dynamic shared memory
//   a kernel's address where CUDA takes a void*    →  STITCH_KERNEL_POINTER(kernel)
// Unsupported features are refused, by name and place.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch::emulated {

// Text under `#if !STITCH_EMULATED` (or #ifndef, or where __CUDA_ARCH__ must be defined) is left unchanged.
Result<std::string> rewrite_launches(std::string_view source, std::string_view file_name);

}  // namespace stitch::emulated
