// CUDA source text into C++ that a host compiler takes, line for line:
//   kernel<T><<<grid, block, shared, stream>>>(…)  →  STITCH_KERNEL(kernel<T>).on(grid, block, shared,
//   stream)(…) extern __shared__ T name[];                    →  a pointer to the block's dynamic shared
//   memory a kernel's address where CUDA wants a void*    →  STITCH_KERNEL_POINTER(kernel)
// and a refusal, by name and place, of what the emulated GPU does not have.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch::emulated {

// Text under `#if !STITCH_EMULATED` (or #ifndef, or where __CUDA_ARCH__ must be defined) is left as it is.
Result<std::string> rewrite_launches(std::string_view source, std::string_view file_name);

}  // namespace stitch::emulated
