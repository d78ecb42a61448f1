#include <gtest/gtest.h>

#include <elf.h>
#include <algorithm>

#include "base/digest/ed25519.h"
#include "base/digest/elf.h"
#include "base/digest/sha256.h"
#include "base/testdata/must.h"

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

namespace {

struct Vector {
  const char *seed, *key, *message, *signature;
};

// RFC 8032, 7.1: tests 1 to 3.
const Vector vectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f"
     "0"
     "595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "\x72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2ea"
     "e"
     "b4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "\xaf\x82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e"
     "9"
     "716ed28dc027beceea1ec40a"},
};

TEST(Ed25519, KnownSignatures) {
  for (const Vector& known : vectors) {
    const KeyBytes seed = *parse_key(known.seed), key = public_key_of(seed);
    EXPECT_EQ(hex_of(key), known.key);
    const SignatureBytes signature = sign(known.message, seed);
    EXPECT_EQ(hex_of(signature), known.signature);
    EXPECT_TRUE(is_signed_by(known.message, signature, key));
  }
}

TEST(Ed25519, RefusesWhatWasChanged) {
  const KeyBytes seed = *parse_key(vectors[0].seed), key = public_key_of(seed);
  const std::string message(1000, 'm');
  const SignatureBytes signature = sign(message, seed);
  ASSERT_TRUE(is_signed_by(message, signature, key));
  EXPECT_FALSE(is_signed_by(message + "m", signature, key));
  EXPECT_FALSE(is_signed_by(message, signature, *parse_key(vectors[1].key)));
  for (size_t byte : {0u, 31u, 32u, 63u}) {
    SignatureBytes other = signature;
    other[byte] ^= 1;
    EXPECT_FALSE(is_signed_by(message, other, key)) << byte;
  }
  // The same answer plus the group's order: RFC 8032 wants it refused.
  SignatureBytes longer = signature;
  const KeyBytes order = *parse_key("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  int carry = 0;
  for (size_t i = 0; i < 32; ++i) {
    carry += longer[32 + i] + order[i];
    longer[32 + i] = static_cast<uint8_t>(carry);
    carry >>= 8;
  }
  EXPECT_FALSE(is_signed_by(message, longer, key));
  KeyBytes nowhere{};
  nowhere.fill(0xff);
  EXPECT_FALSE(is_signed_by(message, signature, nowhere));
}

TEST(Ed25519, ReadsHexadecimal) {
  EXPECT_EQ(hex_of(*parse_key(vectors[0].key)), vectors[0].key);
  EXPECT_FALSE(parse_key("d75a"));
  EXPECT_FALSE(parse_key(std::string(64, 'g')));
}

TEST(Elf, SectionsOfThisProgram) {
  auto file = must(ElfFile::open("/proc/self/exe"));
  auto has_code = [](const ElfSection& section) {
    return (section.flags & SHF_EXECINSTR) != 0 && !section.bytes.empty();
  };
  EXPECT_TRUE(std::ranges::any_of(file.sections(), has_code));
}

TEST(Elf, WhatIsNoneOrCutOffIsAnError) {
  auto scratch = must(ScratchFolder::create("stitch_elf"));
  const fs::path path = scratch.path() / "file";
  const std::string whole = *read_file("/proc/self/exe");
  for (const std::string& wrong : {std::string(), std::string("text"), whole.substr(0, 1000)}) {
    ASSERT_TRUE(write_file(path, wrong));
    EXPECT_FALSE(ElfFile::open(path));
  }
}

}  // namespace

}  // namespace stitch
