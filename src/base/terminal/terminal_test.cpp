#include "base/terminal/terminal.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stitch
