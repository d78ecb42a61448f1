// Ed25519 signatures (RFC 8032): who wrote a receipt.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stitch {

using KeyBytes = std::array<uint8_t, 32>;  // a secret seed, or a public key
using SignatureBytes = std::array<uint8_t, 64>;

KeyBytes public_key_of(const KeyBytes& seed);
SignatureBytes sign(std::string_view message, const KeyBytes& seed);
bool is_signed_by(std::string_view message, const SignatureBytes& signature, const KeyBytes& public_key);

// Two hexadecimal digits a byte.
std::string hex_of(const KeyBytes& key);
std::string hex_of(const SignatureBytes& signature);
std::optional<KeyBytes> parse_key(std::string_view hex);
std::optional<SignatureBytes> parse_signature(std::string_view hex);

}  // namespace stitch
