// The safetensors format: a u64 header length, a JSON header, raw little-endian data.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "graph/type.h"

namespace stitch {

struct TensorBytes {
  TensorType type;
  std::span<const std::byte> bytes;
};

// A mapped file; tensors are read in place. An inconsistent header is refused.
class Safetensors {
 public:
  static Result<Safetensors> open(const fs::path& path);
  // The same over bytes that the caller keeps alive.
  static Result<Safetensors> parse(std::span<const std::byte> bytes);

  const std::map<std::string, TensorBytes, std::less<>>& tensors() const { return tensors_; }
  const TensorBytes* find(std::string_view name) const;

 private:
  std::optional<MappedFile> file_;
  std::map<std::string, TensorBytes, std::less<>> tensors_;
};

Result<void> write_safetensors(const fs::path& path,
                               const std::vector<std::pair<std::string, TensorBytes>>& tensors);

}  // namespace stitch
