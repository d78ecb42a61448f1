#include "base/digest/sha256.h"

#include <array>
#include <cstdint>

#include "base/digest/openssl.h"
#include "base/text.h"

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

}  // namespace stitch
