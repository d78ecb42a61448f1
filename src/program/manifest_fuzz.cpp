// Any text: refused, or a manifest that prints and parses back to itself.
#include <cstdint>
#include <cstdlib>

#include "program/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto manifest = stitch::parse_manifest({reinterpret_cast<const char*>(data), size});
  if (!manifest) return 0;
  auto again = stitch::parse_manifest(stitch::print_manifest(*manifest));
  if (!again || !(*again == *manifest)) std::abort();
  return 0;
}
