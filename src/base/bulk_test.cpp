#include "base/bulk.h"

#include <gtest/gtest.h>

#include <vector>

namespace stitch {
namespace {

std::vector<std::byte> bytes_of(size_t size) {
  std::vector<std::byte> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  return out;
}

TEST(Bulk, CopiesAreEqualUntilOneByteChanges) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4} << 20, (size_t{37} << 20) + 5}) {
    const std::vector<std::byte> from = bytes_of(size);
    BulkBytes copy = bulk_copy_of(from);
    EXPECT_TRUE(equal_bulk(copy.bytes, from)) << size;
    if (size == 0) continue;
    std::vector<std::byte> other = from;
    EXPECT_TRUE(equal_bulk(other, from));
    other.back() ^= std::byte{1};
    EXPECT_FALSE(equal_bulk(other, from)) << size;
    other.pop_back();
    EXPECT_FALSE(equal_bulk(other, from)) << size;
  }
}

}  // namespace
}  // namespace stitch
