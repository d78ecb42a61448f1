// Requests and responses of strangers, in pieces of every size.
#include <cstdint>
#include <cstdlib>

#include "http/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using stitch::http::Reader;
  if (size < 2) return 0;
  const size_t piece = 1 + data[0] % 32;
  const auto kind = data[1] & 1 ? Reader::Kind::request : Reader::Kind::response;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  Reader reader(kind, {.head = 1024, .body = 4096});
  while (!bytes.empty()) {
    const size_t used = reader.take(bytes.substr(0, piece));
    if (used > piece) std::abort();
    if (used == 0) break;
    bytes.remove_prefix(used);
  }
  reader.end();
  const std::string& body = kind == Reader::Kind::request ? reader.request().body : reader.response().body;
  if (body.size() > 4096) std::abort();
  (void)reader.request().parameter("wait");
  return 0;
}
