#include "base/terminal/table.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace stitch {
namespace {

using enum Column::Align;

Table example() {
  Table table({{.header = "op"},
               {.header = "FLOPs", .align = right},
               {.header = "where", .least = 8, .optional = 1}});
  table.add_row({"conv", "3.63 G", "model.py:83, in forward: x = self.conv1(x)"});
  table.add_row({"relu", "12 k", "model.py:84"});
  table.add_rule();
  table.add_row({"all", "3.63 G", ""});
  return table;
}

TEST(Table, NumbersStandRightAndLinesEndClean) {
  EXPECT_EQ(example().render({.width = 80}),
            "op     FLOPs  where\n"
            "────────────────────────────────────────────────────────\n"
            "conv  3.63 G  model.py:83, in forward: x = self.conv1(x)\n"
            "relu    12 k  model.py:84\n"
            "────────────────────────────────────────────────────────\n"
            "all   3.63 G\n");
}

TEST(Table, WrappedColumnsLoseNothing) {
  Table table(
      {{.header = "gate"}, {.header = "seen", .least = 10, .wrap = true}, {.header = "s", .align = right}});
  table.add_row({"build", "4 of 4 sources compiled", "1.5"});
  table.add_row({"load", "averyveryverylongname", "2"});
  EXPECT_EQ(table.render({.width = 24}),
            "gate   seen            s\n"
            "────────────────────────\n"
            "build  4 of 4        1.5\n"
            "       sources\n"
            "       compiled\n"
            "load   averyveryver    2\n"
            "       ylongname\n");
  EXPECT_EQ(wrapped("ab äöü cd", 4), (std::vector<std::string>{"ab", "äöü", "cd"}));
}

TEST(Table, LongTextIsShortenedBeforeAnythingWraps) {
  EXPECT_EQ(example().render({.width = 26}),
            "op     FLOPs  where\n"
            "──────────────────────────\n"
            "conv  3.63 G  model.py:83…\n"
            "relu    12 k  model.py:84\n"
            "──────────────────────────\n"
            "all   3.63 G\n");
}

TEST(Table, OptionalColumnsGoWhenThereIsNoRoomAtAll) {
  EXPECT_EQ(example().render({.utf8 = false, .width = 18}, 2),
            "  op     FLOPs\n"
            "  ------------\n"
            "  conv  3.63 G\n"
            "  relu    12 k\n"
            "  ------------\n"
            "  all   3.63 G\n");
}

TEST(Table, NoHeaderNoRule) {
  Table table({{}, {.align = right}});
  table.add_row({"a", "1"});
  table.add_row({"bb", "22"});
  EXPECT_EQ(table.render({}), "a    1\nbb  22\n");
}

TEST(Table, StylesDoNotCountAsWidth) {
  Table table({{}, {}});
  table.add_row({Cell("x", Style::good), "1"});
  table.add_row({"yy", "2"});
  EXPECT_EQ(table.render({.interactive = true, .colour = true}), "\x1b[32mx\x1b[0m   1\nyy  2\n");
}

TEST(Table, ARowOfTheWrongLengthIsABug) {
  Table table({{.header = "a"}});
  EXPECT_THROW(table.add_row({"1", "2"}), Bug);
}

}  // namespace
}  // namespace stitch
