// Any bytes: refused, or tensors that lie inside them.
#include <cstdint>
#include <cstdlib>

#include "graph/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  auto file = stitch::Safetensors::parse(bytes);
  if (!file) return 0;
  for (const auto& [name, tensor] : file->tensors())
    if (!tensor.bytes.empty() && (tensor.bytes.data() < bytes.data() ||
                                  tensor.bytes.data() + tensor.bytes.size() > bytes.data() + size))
      std::abort();
  return 0;
}
