#include "store/pack.h"

#ifdef STITCH_HAVE_ZLIB
#include <zlib.h>
#endif

namespace stitch::store {

namespace {
constexpr size_t too_small = 256;              // to be worth it
constexpr size_t too_large = size_t{1} << 30;  // more is no text of ours
}  // namespace

#ifdef STITCH_HAVE_ZLIB

Packed pack(std::string_view text) {
  if (text.size() < too_small || text.size() > too_large) return {std::string(text), false};
  uLongf length = compressBound(text.size());
  std::string out(length, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &length,
                             reinterpret_cast<const Bytef*>(text.data()), text.size(), 3);
  if (code != Z_OK || length >= text.size()) return {std::string(text), false};
  out.resize(length);
  return {std::move(out), true};
}

Result<std::string> unpack(std::string packed, bool zlib, size_t size) {
  if (!zlib) return packed;
  if (size > too_large) return work_error("store_damaged", "a text in the database has an impossible length");
  std::string out(size, '\0');
  uLongf length = size;
  const int code = uncompress(reinterpret_cast<Bytef*>(out.data()), &length,
                              reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (code != Z_OK || length != size) return work_error("store_damaged", "a text in the database is damaged");
  return out;
}

#else

Packed pack(std::string_view text) { return {std::string(text), false}; }

Result<std::string> unpack(std::string packed, bool zlib, size_t) {
  if (!zlib) return packed;
  return work_error("no_zlib", "stitchcuda was built without zlib, and texts in the database are compressed",
                    "install zlib's development files (zlib1g-dev) and build again");
}

#endif

}  // namespace stitch::store
