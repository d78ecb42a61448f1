// SHA-256: how sources, libraries and receipts are known again.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"

namespace stitch {

class Sha256 {
 public:
  void add(std::string_view bytes);
  // A text with its length before it, so that "ab" + "c" is not "a" + "bc".
  void add_field(std::string_view text);
  std::string hex();  // ends the sum

 private:
  void block(const uint8_t* bytes);
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_{};
  size_t filled_ = 0;
  uint64_t length_ = 0;
};

std::string sha256(std::string_view bytes);
Result<std::string> sha256_of_file(const fs::path& path);

}  // namespace stitch
