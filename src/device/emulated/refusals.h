// What the emulated GPU does not have, and what to say about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stitch::emulated {

// Why a program that says `word` can't run there: "textures are not emulated (`tex2D`)".
std::optional<std::string> refusal_of_word(std::string_view word);
// Why an asm statement whose text is `assembly` can't.
std::string refusal_of_assembly(std::string_view assembly);

inline constexpr std::string_view refusal_fix =
    "offer a portable path under #if STITCH_EMULATED … #else … #endif";

}  // namespace stitch::emulated
