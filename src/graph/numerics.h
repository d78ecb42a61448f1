// The numerics class: how far from float64 a program may be, as an error budget that PyTorch itself sets on
// the same inputs. Used by every later stage.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace stitch {

enum class Numerics : uint8_t {
  strict,    // PyTorch without TF32
  standard,  // PyTorch's defaults: TF32 in convolutions, FP32 in products; "default" to users
  tf32,      // PyTorch with TF32 everywhere
  half,      // PyTorch under autocast
};
inline constexpr std::array all_numerics = {Numerics::strict, Numerics::standard, Numerics::tf32,
                                            Numerics::half};

std::string_view name(Numerics numerics);  // "default" for standard, a reserved word in C++
// What baselines of this class are: "PyTorch with TF32".
std::string_view pytorch_in(Numerics numerics);
// From a user's argument; the error names the choices.
Result<Numerics> parse_numerics(std::string_view text);

}  // namespace stitch
