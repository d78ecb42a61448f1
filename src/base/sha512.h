// SHA-512, for Ed25519 signatures.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stitch {

std::array<uint8_t, 64> sha512(std::string_view bytes);

}  // namespace stitch
