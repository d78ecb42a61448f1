#include "code/loops/tidy.h"

#include <cctype>
#include <map>
#include <vector>

#include "base/text.h"

namespace stitch::code::loops {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::map<std::string, int> words_of(const std::vector<std::string>& lines) {
  std::map<std::string, int> counts;
  for (const std::string& line : lines)
    for (size_t i = 0; i < line.size();) {
      size_t end = i;
      while (end < line.size() && is_word(line[end])) ++end;
      if (end > i) ++counts[line.substr(i, end - i)];
      i = end + (end == i);
    }
  return counts;
}

// The name that a statement declares and does nothing else with; empty for other statements.
std::string declared(const std::string& line) {
  size_t start = line.find_first_not_of(' ');
  if (start == std::string::npos || line.compare(start, 6, "const ") != 0) return {};
  size_t equals = line.find(" = ");
  if (equals == std::string::npos) return {};
  size_t begin = equals;
  while (begin > 0 && is_word(line[begin - 1])) --begin;
  return line.substr(begin, equals - begin);
}

// The array that a statement declares or fills.
std::string held(const std::string& line) {
  size_t bracket = line.find("_held");
  if (bracket == std::string::npos) return {};
  size_t begin = bracket, end = bracket;
  while (begin > 0 && is_word(line[begin - 1])) --begin;
  while (end < line.size() && is_word(line[end])) ++end;
  if (end >= line.size() || line[end] != '[') return {};
  size_t close = line.find(']', end);
  if (close == std::string::npos) return {};
  bool fills = line.find_first_not_of(' ') == begin && line.compare(close, 4, "] = ") == 0;
  bool declares = close + 2 == line.size() && line[close + 1] == ';' && line.find(" = ") == std::string::npos;
  return fills || declares ? line.substr(begin, end - begin) : "";
}

constexpr size_t columns = 110;

// The position of `mark` outside of all brackets and strings, from `start` on.
size_t find_outside(const std::string& line, std::string_view mark, size_t start) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = start; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (depth == 0 && line.compare(i, mark.size(), mark) == 0) return i;
    if (line[i] == '(' || line[i] == '[' || line[i] == '{') ++depth;
    if (line[i] == ')' || line[i] == ']' || line[i] == '}') --depth;
  }
  return std::string::npos;
}

// Pieces of text[start, end) between marks that stand outside of brackets, each with its mark.
std::vector<std::string> pieces(const std::string& text, std::string_view mark) {
  std::vector<std::string> out;
  size_t start = 0;
  for (size_t at; (at = find_outside(text, mark, start)) != std::string::npos; start = at + mark.size())
    out.push_back(text.substr(start, at + mark.size() - 1 - start));
  out.push_back(text.substr(start));
  return out;
}

// As many pieces a line as fit; later lines begin at `indent`.
std::string filled(const std::string& head, const std::vector<std::string>& all, size_t indent) {
  std::string out, line = head;
  for (size_t i = 0; i < all.size(); ++i) {
    bool fresh = i == 0 || line.size() + 1 + all[i].size() > columns;
    if (i > 0 && fresh) {
      out += line + "\n";
      line = std::string(indent, ' ');
    } else if (i > 0) {
      line += " ";
    }
    line += all[i];
  }
  return out + line;
}

// One statement over several lines, broken where clang-format would.
std::string folded_line(const std::string& line) {
  size_t margin = line.find_first_not_of(' ');
  if (line.size() <= columns || margin == std::string::npos || line.compare(margin, 2, "//") == 0)
    return line;
  std::string inner(margin + 4, ' ');
  constexpr std::string_view checked = "STITCH_OK_OR_RETURN(";
  if (line.compare(margin, checked.size(), checked) == 0)
    return line.substr(0, margin + checked.size()) + "\n" +
           folded_line(inner + line.substr(margin + checked.size()));
  if (size_t equals = find_outside(line, " = ", margin); equals != std::string::npos)
    return line.substr(0, equals + 2) + "\n" + folded_line(inner + line.substr(equals + 3));
  std::string text = line.substr(margin);
  for (std::string_view mark : {" && ", " + ", " * "})
    if (std::vector<std::string> parts = pieces(text, mark); parts.size() > 1)
      return filled(line.substr(0, margin), parts, margin);
  // A call: its arguments, under its bracket.
  size_t open = line.find('(');
  size_t close = line.rfind(')');
  while (close > 0 && close != std::string::npos && find_outside(line, ")", open + 1) < close)
    close = find_outside(line, ")", open + 1);
  if (open == std::string::npos || close == std::string::npos || close <= open) return line;
  std::vector<std::string> arguments = pieces(line.substr(open + 1, close - open - 1), ", ");
  if (arguments.size() < 2) return line;
  arguments.back() += line.substr(close);
  return filled(line.substr(0, open + 1), arguments, open + 1);
}

}  // namespace

std::string without_unused(const std::string& body) {
  std::vector<std::string> lines = split(body, '\n');
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, int> counts = words_of(lines), held_only;
    for (const std::string& line : lines)
      if (std::string name = held(line); !name.empty()) ++held_only[name];
    for (size_t i = lines.size(); i-- > 0;) {
      std::string name = declared(lines[i]), array = held(lines[i]);
      bool unused = !array.empty() && counts[array] == held_only[array];
      if (!name.empty()) {
        // Loops side by side have constants of one name: only what follows in its own scope counts.
        std::vector<std::string> scope;
        size_t margin = lines[i].find_first_not_of(' ');
        for (size_t k = i + 1; k < lines.size(); ++k) {
          if (!lines[k].starts_with('#') && lines[k].find_first_not_of(' ') < margin) break;
          scope.push_back(lines[k]);
        }
        unused |= !words_of(scope).contains(name);
      }
      if (unused) lines.erase(lines.begin() + static_cast<int64_t>(i));
      changed |= unused;
    }
  }
  return join(lines, "\n");
}

std::string folded(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) line = folded_line(line);
  return join(lines, "\n");
}

}  // namespace stitch::code::loops
