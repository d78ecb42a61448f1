#include "base/digest/sha256.h"

#include <gtest/gtest.h>

namespace stitch {

// From FIPS 180-4's examples, and lengths around a block's.
TEST(Sha256, KnownSums) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesAreTheWhole) {
  std::string text(200, 'x');
  for (size_t cut : {0u, 1u, 55u, 56u, 63u, 64u, 65u, 128u, 199u}) {
    Sha256 sum;
    sum.add(text.substr(0, cut));
    sum.add(text.substr(cut));
    EXPECT_EQ(sum.hex(), sha256(text));
  }
}

TEST(Sha256, FieldsDontRunTogether) {
  Sha256 one, other;
  one.add_field("ab"), one.add_field("c");
  other.add_field("a"), other.add_field("bc");
  EXPECT_NE(one.hex(), other.hex());
}

}  // namespace stitch
