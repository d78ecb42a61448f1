#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>

#include "base/result.h"
#include "base/terminal/line_diff.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/terminal/terminal.h"

namespace stitch {

namespace {

TEST(Terminal, WidthIsCountedInColumns) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("µs ✓"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("模型"), 4);
}

TEST(Terminal, ControlCharactersAndBrokenBytesAreShownAsQuestionMarks) {
  EXPECT_EQ(printable("a\x1b[31mb\nc"), "a?[31mb?c");
  EXPECT_EQ(printable("a\xff\xc3"), "a??");
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "abc"),
            "???abc");                                    // right-to-left override
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80"), "?????");  // overlong, surrogate
}

TEST(Terminal, ShortensAtEitherEnd) {
  EXPECT_EQ(shorten("layer4.1.conv2", 14), "layer4.1.conv2");
  EXPECT_EQ(shorten("layer4.1.conv2", 8), "layer4.…");
  EXPECT_EQ(shorten("layer4.1.conv2", 8, Cut::start), "…1.conv2");
  EXPECT_EQ(shorten("layer4.1.conv2", 8, Cut::end, false), "layer...");
  EXPECT_EQ(shorten("模型模型", 4), "模…");
  EXPECT_EQ(shorten("abc", 0), "");
  EXPECT_EQ(shorten("abc", 1), ".");
}

TEST(Terminal, ColoursOnlyWhereWanted) {
  Terminal plain, coloured{.interactive = true, .colour = true};
  EXPECT_EQ(styled("x", Style::bad, plain), "x");
  EXPECT_EQ(styled("x", Style::bad, coloured), "\x1b[31mx\x1b[0m");
}

TEST(Terminal, AFileIsNoTerminal) {
  FILE* file = std::tmpfile();
  Terminal terminal = terminal_of(fileno(file));
  EXPECT_FALSE(terminal.interactive);
  EXPECT_FALSE(terminal.colour);
  std::fclose(file);
}

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

TEST(Progress, LineOnATerminal) {
  Terminal terminal{.interactive = true, .width = 100};
  ProgressState state{.label = "importing", .detail = "9_ResNet18.py", .done = 12, .total = 48, .seconds = 6};
  EXPECT_EQ(progress_line(state, terminal),
            "⠋ importing ━━━━━━────────────────── 12/48  6.0 s  2/s  about 18 s left  9_ResNet18.py");
  terminal.utf8 = false;
  state.total = 0;
  state.seconds = 75;
  state.done = 0;
  EXPECT_EQ(progress_line(state, terminal), "| importing  1:15  9_ResNet18.py");
  state.stopping = true;
  EXPECT_EQ(progress_line(state, terminal),
            "| importing  1:15  stopping; Ctrl-C again ends at once  9_ResNet18.py");
}

TEST(Progress, LineInALog) {
  ProgressState state{.label = "importing", .done = 3, .total = 50, .seconds = 3725};
  EXPECT_EQ(progress_line(state, {}), "importing 3/50  1:02:05  20:41 each  about 16:12:38 left");
}

TEST(Progress, NeverWiderThanTheTerminal) {
  ProgressState state{.label = "importing", .detail = std::string(200, 'x')};
  EXPECT_LE(display_width(progress_line(state, {.interactive = true, .width = 60})), 59);
}

TEST(Progress, QuietIsSilentAndShortWorkLeavesNothingInALog) {
  std::ostringstream quiet, log;
  {
    Progress a(quiet, {.interactive = true}, true, "working");
    Progress b(log, {}, false, "working");
    a.say("nothing");
    b.advance();
  }
  EXPECT_EQ(quiet.str(), "");
  EXPECT_EQ(log.str(), "");
}

TEST(Progress, SaidLinesStay) {
  std::ostringstream out;
  { Progress(out, {.interactive = true}, false, "working").say("done: a.py"); }
  EXPECT_EQ(out.str(), "done: a.py\n");
}

TEST(Progress, LinesBelowAreRedrawnInPlaceAndGoneAtTheEnd) {
  std::ostringstream out;
  {
    Progress progress(out, {.interactive = true, .width = 40}, false, "working");
    std::atomic<int> drawn = 0;
    progress.show_below([&](const Terminal& terminal) {
      ++drawn;
      return std::vector<std::string>{"  \x1b[32mstep\x1b[0m one", format("  width {}", terminal.width)};
    });
    while (drawn < 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NE(out.str().find("\n  \x1b[32mstep\x1b[0m one\x1b[K\n  width 40\x1b[K"), std::string::npos);
  EXPECT_NE(out.str().find("\x1b[2A\r"), std::string::npos);         // over the picture before
  EXPECT_TRUE(out.str().ends_with("\x1b[2A\r\x1b[J")) << out.str();  // and nothing is left
}

TEST(Progress, KnowsHowATerminalThatBecameNarrowerWraps) {
  EXPECT_EQ(rows_of({"12345678", "", "\x1b[32m1234\x1b[0m"}, 80), 3);
  EXPECT_EQ(rows_of({"12345678", "", "\x1b[32m1234\x1b[0m"}, 4), 4);
  EXPECT_EQ(rows_of({"123456789"}, 4), 3);
}

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
