// What the emulated GPU doesn't support, with messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stitch::emulated {

// Why a program that uses `word` can't run: "textures are not emulated (`tex2D`)".
std::optional<std::string> refusal_of_word(std::string_view word);
// Why an asm statement with the text `assembly` can't run.
std::string refusal_of_assembly(std::string_view assembly);

inline constexpr std::string_view refusal_fix =
    "offer a portable path under #if STITCH_EMULATED … #else … #endif";

}  // namespace stitch::emulated
