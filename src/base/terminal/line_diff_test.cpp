#include "base/terminal/line_diff.h"

#include <gtest/gtest.h>

namespace stitch {
namespace {

std::string shown(std::string_view before, std::string_view after, size_t context = 1) {
  std::string out;
  for (const DiffLine& line : line_diff(before, after, context))
    out += std::string(1, static_cast<char>(line.kind)) + line.text + "|";
  return out;
}

TEST(LineDiff, ShowsWhatChangedWithItsSurroundings) {
  EXPECT_EQ(shown("a\nb\nc\nd\ne\n", "a\nb\nx\nd\ne\n"), "@1 line| b|-c|+x| d|@1 line|");
  EXPECT_EQ(shown("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(shown("", "a\nb\n"), "+a|+b|");
  EXPECT_EQ(shown("a\nb\n", ""), "-a|-b|");
  EXPECT_EQ(shown("a\na\nb\n", "a\nb\nb\n", 0), "@1 line|-a|+b|@1 line|");
  EXPECT_EQ(shown("1\n2\n3\n4\n5\n6\n", "0\n1\n2\n3\n4\n5\n", 1), "+0| 1|@3 lines| 5|-6|");
}

TEST(LineDiff, OfTextsTooLongToCompareIsOneChange) {
  std::string a, b;
  for (int i = 0; i < 5000; ++i) a += "a" + std::to_string(i) + "\n", b += "b" + std::to_string(i) + "\n";
  const DiffSize size = size_of(line_diff("same\n" + a, "same\n" + b));
  EXPECT_EQ(size.added, 5000);
  EXPECT_EQ(size.removed, 5000);
}

}  // namespace
}  // namespace stitch
