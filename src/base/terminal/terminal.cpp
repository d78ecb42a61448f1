#include "base/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace stitch {

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The first of these that is set decides, as in setlocale.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (std::string_view value = environment(name); !value.empty()) {
      const std::string lower = lower_case(value);
      return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
    }
  return false;
}

struct Glyph {
  std::string_view bytes;
  int columns;
};

bool between(char32_t c, char32_t low, char32_t high) { return c >= low && c <= high; }

int width_of(char32_t c) {
  if (between(c, 0x300, 0x36f) || between(c, 0x200b, 0x200f) || between(c, 0xfe00, 0xfe0f) ||
      between(c, 0x20d0, 0x20ff) || between(c, 0x1ab0, 0x1aff))
    return 0;
  bool wide = between(c, 0x1100, 0x115f) || between(c, 0x2e80, 0xa4cf) || between(c, 0xac00, 0xd7a3) ||
              between(c, 0xf900, 0xfaff) || between(c, 0xfe30, 0xfe6f) || between(c, 0xff00, 0xff60) ||
              between(c, 0xffe0, 0xffe6) || between(c, 0x1f300, 0x1faff) || between(c, 0x20000, 0x3fffd);
  return wide ? 2 : 1;
}

// The glyph that starts at text[at]; a malformed byte is a glyph of its own, shown as "?".
Glyph glyph_at(std::string_view text, size_t at) {
  constexpr Glyph broken{"?", 1};
  unsigned char lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return lead < 0x20 || lead == 0x7f ? broken : Glyph{text.substr(at, 1), 1};
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return broken;
  char32_t code = lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    unsigned char next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xc0) != 0x80) return broken;
    code = (code << 6) | (next & 0x3fu);
  }
  constexpr char32_t shortest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool control = code < 0xa0;
  bool surrogate = between(code, 0xd800, 0xdfff);
  bool redirects_text = between(code, 0x202a, 0x202e) || between(code, 0x2066, 0x2069);
  if (code < shortest[length] || code > 0x10ffff || control || surrogate || redirects_text) return broken;
  return {text.substr(at, length), width_of(code)};
}

std::vector<Glyph> glyphs(std::string_view text) {
  std::vector<Glyph> out;
  for (size_t at = 0; at < text.size();) {
    Glyph glyph = glyph_at(text, at);
    bool replaced = glyph.bytes.data() != text.data() + at;
    at += replaced ? 1 : glyph.bytes.size();
    out.push_back(glyph);
  }
  return out;
}

int width_of(const std::vector<Glyph>& all) {
  int width = 0;
  for (const Glyph& glyph : all) width += glyph.columns;
  return width;
}

}  // namespace

Terminal terminal_of(int descriptor) {
  Terminal out;
  out.interactive = ::isatty(descriptor) == 1 && environment("TERM") != "dumb";
  out.colour = out.interactive && environment("NO_COLOR").empty();
  out.utf8 = locale_is_utf8();
  winsize size{};
  if (out.interactive && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    out.width = size.ws_col;
  if (auto columns = parse_integer(environment("COLUMNS")); columns && *columns > 0)
    out.width = static_cast<int>(std::min<int64_t>(*columns, 1000));
  out.width = std::max(out.width, 40);
  return out;
}

std::string styled(std::string_view text, Style style, const Terminal& terminal) {
  constexpr std::string_view codes[] = {"", "1", "2", "32", "33", "31"};
  if (!terminal.colour || style == Style::plain || text.empty()) return std::string(text);
  return "\x1b[" + std::string(codes[static_cast<size_t>(style)]) + "m" + std::string(text) + "\x1b[0m";
}

int display_width(std::string_view text) { return width_of(glyphs(text)); }

std::string printable(std::string_view text) {
  std::string out;
  for (const Glyph& glyph : glyphs(text)) out += glyph.bytes;
  return out;
}

std::string shorten(std::string_view text, int width, Cut cut, bool utf8) {
  std::vector<Glyph> all = glyphs(text);
  if (width_of(all) <= width) return printable(text);
  std::string_view mark = utf8 ? "…" : "...";
  int room = width - (utf8 ? 1 : 3);
  if (room < 1) return std::string(static_cast<size_t>(std::max(width, 0)), '.');
  if (cut == Cut::start) std::ranges::reverse(all);
  size_t kept = 0;
  for (int used = 0; kept < all.size() && used + all[kept].columns <= room; ++kept) used += all[kept].columns;
  all.resize(kept);
  if (cut == Cut::start) std::ranges::reverse(all);
  std::string out;
  for (const Glyph& glyph : all) out += glyph.bytes;
  return cut == Cut::start ? std::string(mark) + out : out + std::string(mark);
}

}  // namespace stitch
