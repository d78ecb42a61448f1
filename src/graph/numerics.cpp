#include "graph/numerics.h"

#include "base/format.h"

namespace stitch {

std::string_view name(Numerics numerics) {
  constexpr std::array<std::string_view, all_numerics.size()> names = {"strict", "default", "tf32", "half"};
  return names[static_cast<size_t>(numerics)];
}

std::string_view pytorch_in(Numerics numerics) {
  constexpr std::array<std::string_view, all_numerics.size()> names = {
      "PyTorch without TF32", "PyTorch", "PyTorch with TF32", "PyTorch under autocast"};
  return names[static_cast<size_t>(numerics)];
}

Result<Numerics> parse_numerics(std::string_view text) {
  for (Numerics numerics : all_numerics)
    if (text == name(numerics)) return numerics;
  return user_error("class", format("there is no numerics class '{}'", text),
                    "one of: strict, default, tf32, half");
}

}  // namespace stitch
