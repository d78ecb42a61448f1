// SHA-256: how sources, libraries and receipts are known again.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

struct evp_md_ctx_st;

namespace stitch {

class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  // A text with its length before it, so that "ab" + "c" is not "a" + "bc".
  void add_field(std::string_view text);
  std::string hex();  // ends the sum

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string sha256(std::string_view bytes);
Result<std::string> sha256_of_file(const fs::path& path);

}  // namespace stitch
