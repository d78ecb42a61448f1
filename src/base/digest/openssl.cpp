#include "base/digest/ed25519.h"
#include "base/digest/sha256.h"
#include "base/text.h"

#include <array>
#include <cstdint>
#include <memory>

// The few functions of OpenSSL's libcrypto (1.1.1 or later) that SHA-256 and Ed25519 need. A machine that has
// the library without its headers, as GPU machines often do, gets them declared here.
#if __has_include(<openssl/evp.h>)
#include <openssl/evp.h>
#else
#include <cstddef>

extern "C" {
using EVP_MD = struct evp_md_st;
using EVP_MD_CTX = struct evp_md_ctx_st;
using EVP_PKEY = struct evp_pkey_st;
using EVP_PKEY_CTX = struct evp_pkey_ctx_st;
using ENGINE = struct engine_st;
inline constexpr int EVP_PKEY_ED25519 = 1087;

EVP_MD_CTX* EVP_MD_CTX_new();
void EVP_MD_CTX_free(EVP_MD_CTX*);
const EVP_MD* EVP_sha256();
int EVP_DigestInit_ex(EVP_MD_CTX*, const EVP_MD*, ENGINE*);
int EVP_DigestUpdate(EVP_MD_CTX*, const void*, size_t);
int EVP_DigestFinal_ex(EVP_MD_CTX*, unsigned char*, unsigned*);

EVP_PKEY* EVP_PKEY_new_raw_private_key(int, ENGINE*, const unsigned char*, size_t);
EVP_PKEY* EVP_PKEY_new_raw_public_key(int, ENGINE*, const unsigned char*, size_t);
int EVP_PKEY_get_raw_public_key(const EVP_PKEY*, unsigned char*, size_t*);
void EVP_PKEY_free(EVP_PKEY*);
int EVP_DigestSignInit(EVP_MD_CTX*, EVP_PKEY_CTX**, const EVP_MD*, ENGINE*, EVP_PKEY*);
int EVP_DigestSign(EVP_MD_CTX*, unsigned char*, size_t*, const unsigned char*, size_t);
int EVP_DigestVerifyInit(EVP_MD_CTX*, EVP_PKEY_CTX**, const EVP_MD*, ENGINE*, EVP_PKEY*);
int EVP_DigestVerify(EVP_MD_CTX*, const unsigned char*, size_t, const unsigned char*, size_t);
}
#endif

namespace stitch {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  require(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
          "libcrypto has no SHA-256");
}

void Sha256::add(std::string_view bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "SHA-256 failed");
}

void Sha256::add_field(std::string_view text) {
  add(std::to_string(text.size()) + ':');
  add(text);
}

std::string Sha256::hex() {
  std::array<uint8_t, 32> sum{};
  require(EVP_DigestFinal_ex(context_.get(), sum.data(), nullptr) == 1, "SHA-256 failed");
  return hex_text(sum);
}

std::string sha256(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

Result<std::string> sha256_of_file(const fs::path& path) {
  STITCH_TRY(MappedFile file, MappedFile::open(path));
  return sha256({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
}

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
