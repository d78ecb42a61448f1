#include "base/digest/ed25519.h"

#include <memory>

#include "base/digest/openssl.h"
#include "base/result.h"
#include "base/text.h"

namespace stitch {

namespace {

using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
using Context = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)>;

Key secret_key(const KeyBytes& seed) {
  Key out(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()), EVP_PKEY_free);
  require(out != nullptr, "libcrypto has no Ed25519");
  return out;
}

const uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

template <class Bytes>
std::optional<Bytes> parse_hex(std::string_view hex) {
  Bytes out{};
  if (hex.size() != 2 * out.size()) return std::nullopt;
  for (size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    out[i / 2] = static_cast<uint8_t>(out[i / 2] << 4 | digit);
  }
  return out;
}

}  // namespace

KeyBytes public_key_of(const KeyBytes& seed) {
  KeyBytes out{};
  size_t size = out.size();
  require(EVP_PKEY_get_raw_public_key(secret_key(seed).get(), out.data(), &size) == 1, "Ed25519 failed");
  return out;
}

SignatureBytes sign(std::string_view message, const KeyBytes& seed) {
  const Key key = secret_key(seed);
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  SignatureBytes out{};
  size_t size = out.size();
  require(context && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
              EVP_DigestSign(context.get(), out.data(), &size, bytes_of(message), message.size()) == 1,
          "Ed25519 failed");
  return out;
}

bool is_signed_by(std::string_view message, const SignatureBytes& signature, const KeyBytes& public_key) {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, public_key.data(), public_key.size()),
                EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return key && context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes_of(message),
                          message.size()) == 1;
}

std::string hex_of(const KeyBytes& key) { return hex_text(key); }
std::string hex_of(const SignatureBytes& signature) { return hex_text(signature); }
std::optional<KeyBytes> parse_key(std::string_view hex) { return parse_hex<KeyBytes>(hex); }
std::optional<SignatureBytes> parse_signature(std::string_view hex) { return parse_hex<SignatureBytes>(hex); }

}  // namespace stitch
