#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stitch {
namespace {

TEST(Text, NumbersReadBackExactly) {
  EXPECT_EQ(number_text(3), "3.0");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(-INFINITY), "-inf");
  for (double value : {1e-310, 1e300, 2.0 / 3, -0.0})
    EXPECT_EQ(std::signbit(*parse_number(number_text(value))), std::signbit(value));
  EXPECT_TRUE(std::isnan(*parse_number("nan")));
  EXPECT_FALSE(parse_number("1.5x"));
  EXPECT_FALSE(parse_integer("99999999999999999999"));
}

TEST(Text, QuotingIsUndone) {
  std::string odd = "a\"b\\c\nd\te\x01 é";
  EXPECT_EQ(*unquote(quote(odd)), odd);
  EXPECT_FALSE(unquote("\"open"));
  EXPECT_FALSE(unquote("\"\\q\""));
}

TEST(Text, UnitsKeepThreeDigits) {
  EXPECT_EQ(si(11689512), "11.7 M");
  EXPECT_EQ(si(999.9), "1.00 k");
  EXPECT_EQ(si(7), "7");
  EXPECT_EQ(bytes_text(46.8e6), "46.8 MB");
  EXPECT_EQ(seconds_text(0.00031), "310 us");
  EXPECT_EQ(seconds_text(13800), "3.83 h");
  EXPECT_EQ(seconds_text(-1.2e-6), "−1.2 us") << "a loss is no zero";
}

TEST(Text, NearestKnowsTyposFromStrangers) {
  std::vector<std::string> words = {"import", "show", "doctor"};
  EXPECT_EQ(nearest("improt", words), "import");
  EXPECT_EQ(nearest("docter", words), "doctor");
  EXPECT_FALSE(nearest("xyzzy", words));
  EXPECT_EQ(nearest("modle", std::vector<std::string>{"mode", "model", "models"}), "model");
}

}  // namespace
}  // namespace stitch
