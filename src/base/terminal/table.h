// Tables that fit the terminal: numbers right-aligned, long text shortened, or wrapped inside its column.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/terminal/terminal.h"

namespace stitch {

struct Column {
  std::string header;
  enum class Align { left, right } align = Align::left;
  Cut cut = Cut::end;
  int least = 0;      // may be shortened to this many columns; 0: never shortened
  int most = 0;       // never wider than this; 0: as wide as its cells
  int optional = 0;   // 0: always there; otherwise left out for lack of room, the highest number first
  bool wrap = false;  // what is too long goes on in the next line, instead of being cut off
};

struct Cell {
  std::string text;
  Style style = Style::plain;
  Cell() = default;
  Cell(std::string cell_text, Style cell_style = Style::plain)
      : text(std::move(cell_text)), style(cell_style) {}
  Cell(const char* cell_text) : text(cell_text) {}
};

// Lines of at most `width` columns, broken at spaces; a longer word is broken where the line ends.
std::vector<std::string> wrapped(std::string_view text, int width);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add_row(std::vector<Cell> cells);
  // A line between what is above and what comes below, such as a sum.
  void add_rule() { rows_.push_back({}); }
  bool empty() const { return rows_.empty(); }

  // With a header unless every column's is empty; each line ends in a newline and has no spaces before it.
  std::string render(const Terminal& terminal, int indent = 0) const;

 private:
  std::vector<int> fit(int width) const;  // each column's width; -1: left out

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;  // an empty one is a rule
};

}  // namespace stitch
