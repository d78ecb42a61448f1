#include "graph/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

namespace stitch {
namespace {

std::vector<std::byte> file_of(const std::string& header, size_t data, uint64_t claimed = 0) {
  uint64_t length = claimed ? claimed : header.size();
  std::vector<std::byte> bytes(8 + header.size() + data);
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  auto scratch = ScratchFolder::create("stitch_test");
  ASSERT_TRUE(scratch);
  std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  TensorBytes tensor{{DType::f32, {2, 3}, {}}, std::as_bytes(std::span(numbers))};
  fs::path path = scratch->path() / "w.safetensors";
  ASSERT_TRUE(write_safetensors(path, {{"a.b", tensor}, {"empty", {{DType::i64, {0}, {}}, {}}}}));
  auto file = Safetensors::open(path);
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE(file->find("a.b"));
  EXPECT_EQ(file->find("a.b")->type, tensor.type);
  EXPECT_EQ(std::memcmp(file->find("a.b")->bytes.data(), numbers.data(), 24), 0);
  EXPECT_EQ(file->tensors().size(), 2u);
}

struct Lie {
  const char *name, *header;
  size_t data;
  uint64_t claimed;
  const char* message;
};

void PrintTo(const Lie& one, std::ostream* out) { *out << one.name; }

class LyingHeader : public testing::TestWithParam<Lie> {};

TEST_P(LyingHeader, IsRefused) {
  auto file = Safetensors::parse(file_of(GetParam().header, GetParam().data, GetParam().claimed));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, std::string("not a whole safetensors file: ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, LyingHeader,
    testing::Values(
        Lie{"longer_than_the_file", "{}", 0, 1000, "the header claims 1000 bytes, the file has 2"},
        Lie{"longest", "{}", 0, UINT64_MAX, "the header claims 18446744073709551615 bytes, the file has 2"},
        Lie{"no_json", "{]", 0, 0, "the header is no JSON object"},
        Lie{"past_the_end", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, 0,
            "'a' lies at bytes 0 to 8 of 4"},
        Lie{"backwards", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, 0,
            "'a' lies at bytes 8 to 0 of 8"},
        Lie{"wrong_size", R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, 0,
            "'a' has 8 bytes, but f32[3] needs 12"},
        Lie{"overflow", R"({"a":{"dtype":"F32","shape":[9223372036854775807,9],"data_offsets":[0,8]}})", 8, 0,
            "'a' has an unusable shape"},
        Lie{"negative", R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8, 0,
            "the header's entry 'a' lacks dtype, shape or data_offsets"},
        Lie{"unknown_dtype", R"({"a":{"dtype":"F8","shape":[8],"data_offsets":[0,8]}})", 8, 0,
            "'a' has the dtype F8, which we don't know"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stitch
