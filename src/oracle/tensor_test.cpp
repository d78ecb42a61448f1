#include "oracle/tensor.h"

#include <bit>
#include <cstring>

#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

TEST(Half, EveryNumberComesBack) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    uint16_t word = static_cast<uint16_t>(bits);
    double half = from_half_bits(word), bfloat = from_bfloat_bits(word);
    EXPECT_TRUE(std::isnan(half) || to_half_bits(half) == word) << bits;
    EXPECT_TRUE(std::isnan(bfloat) || to_bfloat_bits(bfloat) == word) << bits;
  }
  EXPECT_TRUE(std::isnan(from_half_bits(to_half_bits(nan))));
  EXPECT_TRUE(std::isnan(from_bfloat_bits(to_bfloat_bits(-nan))));
}

TEST(Half, RoundsOnceToNearestEven) {
  EXPECT_EQ(to_half_bits(1), 0x3c00);
  EXPECT_EQ(to_half_bits(1 + 0x1p-11), 0x3c00);            // ties to even
  EXPECT_EQ(to_half_bits(1 + 3 * 0x1p-11), 0x3c02);        // ties to even, upwards
  EXPECT_EQ(to_half_bits(1 + 0x1p-11 + 0x1p-40), 0x3c01);  // rounding to float first would make a tie
  EXPECT_EQ(to_half_bits(65519.99), 0x7bff);
  EXPECT_EQ(to_half_bits(65520), 0x7c00);
  EXPECT_EQ(to_half_bits(-0x1p-24), 0x8001);
  EXPECT_EQ(to_half_bits(0x1p-25), 0);
  EXPECT_EQ(to_half_bits(0x1.8p-25), 1);
  EXPECT_EQ(to_bfloat_bits(3.4e38), 0x7f80);
  EXPECT_EQ(to_bfloat_bits(1 + 0x1p-8), 0x3f80);
}

TEST(Tensor, BytesThereAndBack) {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i8}) {
    Tensor tensor = Tensor::of(dtype, {2, 2}, {1, -2, 100, 0});
    auto back = Tensor::from_bytes(dtype, {2, 2}, tensor.to_bytes());
    ASSERT_TRUE(back);
    expect_values(*back, {1, -2, 100, 0});
  }
  EXPECT_EQ(Tensor::of(DType::boolean, {3}, {2, 0, nan}).to_bytes(),
            (std::vector<std::byte>{std::byte{1}, std::byte{0}, std::byte{1}}));
  float rounded;
  auto bytes = floats({1}, {0.1}).to_bytes();
  ASSERT_EQ(bytes.size(), 4u);
  std::memcpy(&rounded, bytes.data(), 4);
  EXPECT_EQ(rounded, 0.1f);
}

TEST(Tensor, WrongNumberOfBytesIsAnError) {
  std::vector<std::byte> bytes(7);
  auto tensor = Tensor::from_bytes(DType::f32, {2}, bytes);
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, "wrong_size");
}

TEST(Tensor, ReshapeSharesAndSharedTensorsAreNotWritten) {
  Tensor tensor = counting({2, 3});
  Tensor other = tensor.reshaped({3, 2});
  EXPECT_EQ(other.data<double>(), tensor.data<double>());
  EXPECT_THROW(tensor.writable<double>(), Bug);
  EXPECT_NE(other.copy().data<double>(), tensor.data<double>());
}

TEST(Tensor, ToInteger) {
  EXPECT_EQ(to_integer(-1.7, DType::i64), -1);
  EXPECT_EQ(to_integer(nan, DType::i64), 0);
  EXPECT_EQ(to_integer(inf, DType::i64), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to_integer(3e9, DType::i32), 2147483647);
  EXPECT_EQ(to_integer(300, DType::u8), 44);
  EXPECT_EQ(to_integer(-1, DType::u8), 255);
  EXPECT_EQ(to_integer(0.3, DType::boolean), 1);
}

}  // namespace
}  // namespace stitch::oracle
