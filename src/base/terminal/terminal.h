// What stands behind an output: a person's terminal, or a file or pipe.
#pragma once

#include <string>
#include <string_view>

namespace stitch {

struct Terminal {
  bool interactive = false;  // a person is watching: lines may be redrawn
  bool colour = false;
  bool utf8 = true;
  int width = 120;  // columns; 120 if the output is not a terminal
};

// NO_COLOR and TERM=dumb turn colours off; COLUMNS overrides the width.
Terminal terminal_of(int descriptor);

enum class Style { plain, bold, dim, good, warning, bad };
// The text with its colours, where they are wanted.
std::string styled(std::string_view text, Style style, const Terminal& terminal);

// Columns the text takes, by code point: combining marks none, East Asian wide ones two.
int display_width(std::string_view text);
// Control characters and broken UTF-8 become '?': names come from other people's files, and none of them
// may move the cursor.
std::string printable(std::string_view text);
// At most `width` columns; what is cut off leaves an ellipsis behind.
enum class Cut { end, start };
std::string shorten(std::string_view text, int width, Cut cut = Cut::end, bool utf8 = true);

}  // namespace stitch
