#include "code/index.h"

#include <gtest/gtest.h>

namespace stitch::code {

namespace {

Index var(const char* name, int64_t extent) { return Index::variable(name, extent); }

}  // namespace

TEST(Index, SumsAreCanonical) {
  Index i = var("i", 10), j = var("j", 7);
  EXPECT_EQ((i * 7 + j).text(), "i * 7 + j");
  EXPECT_EQ((j + i * 7).text(), "i * 7 + j");
  EXPECT_EQ((i + j - i).text(), "j");
  EXPECT_EQ((i - i).text(), "0");
  EXPECT_EQ((i - 3).text(), "i - 3");
  EXPECT_EQ((j * -2 + i).text(), "i - j * 2");
}

TEST(Index, BoundsFollowTheVariables) {
  Index e = var("i", 10) * 7 - var("j", 7) + 3;
  EXPECT_EQ(e.least(), -3);
  EXPECT_EQ(e.most(), 66);
}

// A reshape that splits what flattening joined gives the indices back.
TEST(Index, ReshapesCancel) {
  Indices indices = {var("a", 4), var("b", 6), var("c", 5)};
  Indices back = unflatten(flatten(indices, {4, 6, 5}), {4, 6, 5});
  for (size_t d = 0; d < 3; ++d) EXPECT_EQ(back[d].text(), indices[d].text());
  Indices merged = unflatten(flatten(indices, {4, 6, 5}), {24, 5});
  EXPECT_EQ(merged[0].text(), "a * 6 + b");
  EXPECT_EQ(merged[1].text(), "c");
  Indices split = unflatten(flatten(merged, {24, 5}), {4, 6, 5});
  EXPECT_EQ(split[1].text(), "b");
}

TEST(Index, QuotientAndRemainderJoin) {
  Index i = var("i", 120);
  Indices parts = unflatten(i, {8, 15});
  EXPECT_EQ(parts[0].text(), "i / 15");
  EXPECT_EQ(parts[1].text(), "i % 15");
  EXPECT_EQ(flatten(parts, {8, 15}).text(), "i");
  EXPECT_EQ(i.divided_by(5).divided_by(3).text(), "i / 15");
}

// What a contiguous copy of four dimensions asks for: all of it is one position.
TEST(Index, ChainsOfQuotientsJoin) {
  Index pack = var("pack", 3200);
  EXPECT_EQ(flatten(unflatten(pack * 4, {8, 16, 10, 10}), {8, 16, 10, 10}).text(), "pack * 4");
  Index i = var("i", 720);
  EXPECT_EQ(flatten(unflatten(i, {2, 3, 4, 5, 6}), {2, 3, 4, 5, 6}).text(), "i");
}

TEST(Index, RemaindersOfMultiples) {
  Index i = var("i", 100);
  EXPECT_EQ((i * 4).modulo(12).text(), "(i % 3) * 4");
  EXPECT_EQ((i * 12 + 5).modulo(12).text(), "5");
  EXPECT_EQ((i * 12 + 5).divided_by(12).text(), "i");
}

// A flip, then a reshape that splits: C's / and % would round the wrong way below zero.
TEST(Index, NothingNegativeIsDivided) {
  Index flipped = Index(11) - var("i", 12), shifted = var("i", 12) - 5;
  EXPECT_EQ(flipped.divided_by(4).text(), "(-i + 11) / 4");
  EXPECT_EQ(shifted.divided_by(4).text(), "(i + 3) / 4 - 2");
  EXPECT_EQ(shifted.modulo(4).text(), "(i + 3) % 4");
}

TEST(Index, VariablesOfOneElementVanish) { EXPECT_EQ(var("i", 1).text(), "0"); }

// Checked against plain arithmetic over all values.
TEST(Index, AgreesWithArithmetic) {
  Shape from = {3, 4, 6}, to = {9, 8};
  Index a = var("a", 3), b = var("b", 4), c = var("c", 6);
  Indices split = unflatten(flatten({a, b, c}, from), to);
  for (int64_t x = 0; x < 3; ++x)
    for (int64_t y = 0; y < 4; ++y)
      for (int64_t z = 0; z < 6; ++z) {
        int64_t linear = (x * 4 + y) * 6 + z;
        EXPECT_LE(split[0].least(), linear / 8);
        EXPECT_GE(split[0].most(), linear / 8);
      }
  EXPECT_TRUE(split[0].appears("a"));
  EXPECT_FALSE(split[1].appears_only_linearly("c"));
}

}  // namespace stitch::code
