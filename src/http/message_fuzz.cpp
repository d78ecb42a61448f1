// Requests of strangers, in pieces of every size.
#include <cstdint>
#include <cstdlib>

#include "http/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const size_t piece = 1 + data[0] % 32;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  stitch::http::Reader reader({.head = 1024, .body = 4096});
  while (!bytes.empty()) {
    const size_t used = reader.take(bytes.substr(0, piece));
    if (used > piece) std::abort();
    if (used == 0) break;
    bytes.remove_prefix(used);
  }
  if (reader.request().body.size() > 4096) std::abort();
  (void)reader.request().parameter("wait");
  return 0;
}
