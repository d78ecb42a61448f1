#include "base/terminal/table.h"

#include <algorithm>

#include "base/result.h"
#include "base/text.h"

namespace stitch {

namespace {
constexpr int gap = 2;  // between columns

int total(const std::vector<int>& widths) {
  int sum = 0;
  for (int width : widths)
    if (width >= 0) sum += width + gap;
  return std::max(sum - gap, 0);
}

std::string trim_right(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}
}  // namespace

std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> out(1);
  for (std::string word : split(text, ' ')) {
    if (!out.back().empty() && display_width(out.back()) + 1 + display_width(word) > width)
      out.emplace_back();
    // No shortening mark here: nothing is lost.
    while (out.back().empty() && display_width(word) > std::max(width, 1)) {
      size_t end = 0;
      for (size_t next = 0;
           next < word.size() && display_width(std::string_view(word).substr(0, next)) <= width; ++next)
        if ((static_cast<unsigned char>(word[next]) & 0xC0) != 0x80) end = next;
      if (end == 0) break;
      out.back() = word.substr(0, end);
      word.erase(0, end);
      out.emplace_back();
    }
    out.back() += (out.back().empty() ? "" : " ") + word;
  }
  return out;
}

void Table::add_row(std::vector<Cell> cells) {
  require(cells.size() == columns_.size(), "a row has a cell for each column");
  rows_.push_back(std::move(cells));
}

std::vector<int> Table::fit(int width) const {
  std::vector<int> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int widest = display_width(columns_[c].header);
    for (const auto& row : rows_)
      if (!row.empty()) widest = std::max(widest, display_width(row[c].text));
    widths.push_back(columns_[c].most ? std::min(widest, columns_[c].most) : widest);
  }
  // First the widest of the columns that may be shortened gives way, down to its least ...
  auto shrink = [&](std::vector<int>& trial) {
    while (total(trial) > width) {
      int widest = -1;
      for (size_t c = 0; c < trial.size(); ++c) {
        bool can = columns_[c].least > 0 && trial[c] > columns_[c].least;
        if (can && (widest < 0 || trial[c] > trial[static_cast<size_t>(widest)]))
          widest = static_cast<int>(c);
      }
      if (widest < 0) return false;
      --trial[static_cast<size_t>(widest)];
    }
    return true;
  };
  // ... and when that is not enough, the most optional column goes.
  for (;;) {
    std::vector<int> trial = widths;
    if (shrink(trial)) return trial;
    int victim = -1;
    for (size_t c = 0; c < columns_.size(); ++c)
      if (widths[c] >= 0 && columns_[c].optional > 0 &&
          (victim < 0 || columns_[c].optional > columns_[static_cast<size_t>(victim)].optional))
        victim = static_cast<int>(c);
    if (victim < 0) return trial;
    widths[static_cast<size_t>(victim)] = -1;
  }
}

std::string Table::render(const Terminal& terminal, int indent) const {
  std::vector<int> widths = fit(terminal.width - indent);
  std::string margin(static_cast<size_t>(indent), ' ');
  std::string out;
  auto write = [&](size_t count, auto cell_of) {
    std::string line = margin;
    bool first = true;
    for (size_t c = 0; c < count; ++c) {
      if (widths[c] < 0) continue;
      if (!first) line += std::string(gap, ' ');
      first = false;
      const Cell cell = cell_of(c);
      std::string text = shorten(cell.text, widths[c], columns_[c].cut, terminal.utf8);
      std::string space(static_cast<size_t>(std::max(widths[c] - display_width(text), 0)), ' ');
      bool right = columns_[c].align == Column::Align::right;
      line += right ? space + styled(text, cell.style, terminal) : styled(text, cell.style, terminal) + space;
    }
    out += trim_right(std::move(line)) + '\n';
  };
  // A row in as many lines as its longest wrapped cell has.
  auto write_wrapped = [&](const std::vector<Cell>& row) {
    std::vector<std::vector<std::string>> lines;
    size_t height = 1;
    for (size_t c = 0; c < row.size(); ++c) {
      lines.push_back(columns_[c].wrap && widths[c] > 0 ? wrapped(row[c].text, widths[c])
                                                        : std::vector{row[c].text});
      if (widths[c] >= 0) height = std::max(height, lines.back().size());
    }
    for (size_t i = 0; i < height; ++i)
      write(row.size(),
            [&](size_t c) { return i < lines[c].size() ? Cell(lines[c][i], row[c].style) : Cell(); });
  };
  auto rule = [&] {
    std::string line;
    for (int i = 0; i < total(widths); ++i) line += terminal.utf8 ? "─" : "-";
    out += margin + styled(line, Style::dim, terminal) + '\n';
  };
  bool headed = std::ranges::any_of(columns_, [](const Column& column) { return !column.header.empty(); });
  if (headed) {
    write(columns_.size(), [&](size_t c) { return Cell(columns_[c].header, Style::bold); });
    rule();
  }
  for (const auto& row : rows_) {
    if (row.empty())
      rule();
    else
      write_wrapped(row);
  }
  return out;
}

}  // namespace stitch
