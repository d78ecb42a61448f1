#include "program/fold.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.h"

namespace stitch {

namespace {

// A piece of a line that is never broken, with the brackets it stands in.
struct Piece {
  std::string text;   // with the space before it
  size_t depth = 0;   // of brackets around its start
  size_t lowest = 0;  // the least depth in it: less where it ends the bracket it begins in
  bool after_comma = false, after_operator = false, after_open = false;  // why a line may begin here
};

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of the string or character literal that begins here.
size_t end_of_literal(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == text[at])
      return i + 1;
  }
  return text.size();
}

bool is_literal(std::string_view text, size_t at) {
  // 1'000'000 has separators.
  return text[at] == '"' || (text[at] == '\'' && (at == 0 || !is_word(text[at - 1])));
}

size_t find_comment(std::string_view line) {
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    if (is_literal(line, i))
      i = end_of_literal(line, i) - 1;
    else if (line[i] == '/' && line[i + 1] == '/')
      return i;
  }
  return std::string_view::npos;
}

// Templates' brackets follow a name; comparisons have a space.
bool opens(std::string_view text, size_t at) {
  if (text[at] == '<') return at > 0 && is_word(text[at - 1]) && at + 1 < text.size() && text[at + 1] != ' ';
  return text[at] == '(' || text[at] == '{' || text[at] == '[';
}

bool closes(std::string_view text, size_t at, const std::vector<char>& open) {
  if (text[at] == '>') return !open.empty() && open.back() == '<' && text[at - 1] != '-';
  return text[at] == ')' || text[at] == '}' || text[at] == ']';
}

// An operator between spaces that ends a line; `?` and `:` begin one.
size_t operator_size(std::string_view text, size_t at) {
  constexpr std::array<std::string_view, 7> operators = {" && ", " || ", " + ", " - ", " * ", " / ", " = "};
  for (std::string_view each : operators)
    if (text.substr(at, each.size()) == each) return each.size() - 1;
  return 0;
}

std::vector<Piece> pieces_of(std::string_view code) {
  std::vector<Piece> out(1);
  std::vector<char> open;
  auto begin = [&](bool comma, bool operation, bool bracket) {
    out.push_back({"", open.size(), open.size(), comma, operation, bracket});
  };
  for (size_t i = 0; i < code.size(); ++i) {
    if (is_literal(code, i)) {
      size_t end = end_of_literal(code, i);
      out.back().text += code.substr(i, end - i);
      i = end - 1;
    } else if (size_t size = operator_size(code, i)) {
      out.back().text += code.substr(i, size);
      begin(false, true, false);
      i += size - 1;
    } else if (code.substr(i, 3) == " ? " || code.substr(i, 3) == " : ") {
      begin(false, true, false);
      out.back().text += code.substr(i, 2);
      ++i;
    } else if (opens(code, i)) {
      out.back().text += code[i];
      open.push_back(code[i]);
      if (i + 1 < code.size() && !closes(code, i + 1, open)) begin(false, false, true);
    } else if (closes(code, i, open)) {
      out.back().text += code[i];
      if (!open.empty()) open.pop_back();
      out.back().lowest = std::min(out.back().lowest, open.size());
    } else {
      out.back().text += code[i];
      if (code[i] == ',' && i + 1 < code.size() && code[i + 1] == ' ') begin(true, false, false);
    }
  }
  return out;
}

class Folder {
 public:
  Folder(std::string_view code, size_t below, size_t columns)
      : pieces_(pieces_of(code)), columns_(columns), column_(0), below_{below} {}

  std::string fold() {
    for (size_t i = 0; i < pieces_.size(); ++i) put(i);
    return std::move(out_);
  }

 private:
  // Columns from this piece to the next place of its kind at its depth, or to where its bracket ends.
  size_t width(size_t at, bool of_argument) const {
    const Piece& first = pieces_[at];
    size_t sum = first.text.size();
    for (size_t i = at + 1; i < pieces_.size() && pieces_[i - 1].lowest >= first.depth; ++i) {
      const Piece& piece = pieces_[i];
      if (piece.depth == first.depth && (piece.after_comma || (!of_argument && piece.after_operator))) break;
      sum += piece.text.size();
    }
    return sum;
  }

  size_t line_indent() const { return indent_of(std::string_view(out_).substr(out_.rfind('\n') + 1)); }

  // Is there an argument of this bracket that has no room below its first but would have further left?
  bool goes_left(size_t first) const {
    const size_t left = line_indent() + 4;
    const size_t depth = pieces_[first].depth;
    for (size_t i = first; i < pieces_.size() && (i == first || pieces_[i - 1].lowest >= depth); ++i) {
      if (pieces_[i].depth != depth || pieces_[i].after_operator) continue;
      const size_t wide = width(i, true);
      if (column_ + wide > columns_ && left + wide <= columns_) return left < column_;
    }
    return false;
  }

  void put(size_t i) {
    const Piece& piece = pieces_[i];
    below_.resize(std::min(below_.size(), piece.depth + 1));
    while (below_.size() < piece.depth + 1) below_.push_back(column_);
    if (piece.after_open) {
      below_[piece.depth] = column_;
      if (goes_left(i)) {
        below_[piece.depth] = line_indent() + 4;
        new_line(piece.depth);
      }
    } else if (piece.after_comma || piece.after_operator) {
      if (column_ + width(i, piece.after_comma) > columns_) new_line(piece.depth);
    }
    std::string_view text = piece.text;
    if (starts_line_ && (piece.after_comma || piece.after_operator || piece.after_open))
      text.remove_prefix(indent_of(text));
    out_ += text;
    column_ += text.size();
    starts_line_ = false;
  }

  void new_line(size_t depth) {
    if (column_ <= below_[depth]) return;
    out_ += "\n" + std::string(below_[depth], ' ');
    column_ = below_[depth];
    starts_line_ = true;
  }

  std::vector<Piece> pieces_;
  size_t columns_, column_;
  std::vector<size_t> below_;  // by depth, where its lines begin
  bool starts_line_ = false;
  std::string out_;
};

std::string fold_comment(std::string_view line, size_t columns) {
  const std::string start = std::string(indent_of(line), ' ') + "//";
  std::string out, current = start;
  for (const std::string& word : split(line.substr(indent_of(line) + 2), ' ')) {
    if (word.empty()) continue;
    if (current.size() + 1 + word.size() > columns && current != start) {
      out += current + "\n";
      current = start;
    }
    current += " " + word;
  }
  return out + current;
}

// Where a function's body begins on the line of its head: "int f() { return 1; }".
size_t find_body(std::string_view code) {
  if (!code.ends_with(" }")) return std::string_view::npos;
  size_t depth = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    if (is_literal(code, i))
      i = end_of_literal(code, i) - 1;
    else if (code[i] == '(')
      ++depth;
    else if (code[i] == ')')
      depth -= depth > 0;
    else if (depth == 0 && code.substr(i, 3) == " { ")
      return i;
  }
  return std::string_view::npos;
}

std::string fold_line(std::string_view line, bool continues, size_t columns) {
  if (line.size() <= columns || line[indent_of(line)] == '#') return std::string(line);
  const size_t indent = indent_of(line), comment = find_comment(line);
  if (comment == indent) return fold_comment(line, columns);
  std::string above;
  if (comment != std::string_view::npos) {
    above = fold_comment(std::string(indent, ' ') + std::string(line.substr(comment)), columns) + "\n";
    line = line.substr(0, line.find_last_not_of(' ', comment - 1) + 1);
    if (line.size() <= columns) return above + std::string(line);
  }
  if (const size_t body = find_body(line); body != std::string_view::npos) {
    const std::string inside(line.substr(body + 3, line.size() - body - 5));
    return above + fold_line(line.substr(0, body + 2), continues, columns) + "\n" +
           fold_line(std::string(indent + 2, ' ') + inside, false, columns) + "\n" +
           std::string(indent, ' ') + "}";
  }
  const size_t below = indent + (continues ? 0 : line.substr(indent).starts_with("return ") ? 7 : 4);
  return above + Folder(line, below, columns).fold();
}

}  // namespace

std::string fold(std::string_view source, size_t columns) {
  std::string out;
  bool continues = false;  // a line inside open brackets
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size());
    const std::string_view line = source.substr(at, end - at);
    out += fold_line(line, continues, columns);
    const std::string_view code = line.substr(0, find_comment(line));
    const size_t last = code.find_last_not_of(' ');
    if (last != std::string_view::npos) continues = code[last] == ',' || code[last] == '(';
    if (end < source.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace stitch
