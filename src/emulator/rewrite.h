// Rewrites CUDA source to C++ for a host compiler, keeping line numbers:
//   kernel<T><<<grid, block>>>(…)                  →  STITCH_KERNEL(kernel<T>).on(grid, block)(…)
//   extern __shared__ T name[];                    →  a pointer to the block's dynamic shared memory
//   a kernel's address where CUDA takes a void*    →  STITCH_KERNEL_POINTER(kernel)
// Unsupported features are refused, by name and place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch::emulated {

// Text under `#if !STITCH_EMULATED` (or #ifndef, or where __CUDA_ARCH__ must be defined) is left unchanged.
Result<std::string> rewrite_launches(std::string_view source, std::string_view file_name);

// What the emulated GPU doesn't support, with messages.
// Why a program that uses `word` can't run: "textures are not emulated (`tex2D`)".
std::optional<std::string> refusal_of_word(std::string_view word);
// Why an asm statement with the text `assembly` can't run.
std::string refusal_of_assembly(std::string_view assembly);

inline constexpr std::string_view refusal_fix =
    "offer a portable path under #if STITCH_EMULATED … #else … #endif";

}  // namespace stitch::emulated
