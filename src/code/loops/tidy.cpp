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

// Where a line may be broken, and how far in the next one begins.
struct Break {
  size_t at = 0, indent = 0;
};

Break best_break(const std::string& line, size_t margin) {
  std::vector<size_t> open;
  Break best;
  bool quoted = false;
  for (size_t i = 0; i + 1 < line.size() && i < 109; ++i) {
    char c = line[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[' || c == '{') open.push_back(i + 1);
    if ((c == ')' || c == ']' || c == '}') && !open.empty()) open.pop_back();
    bool after = line[i + 1] == ' ' &&
                 (c == ',' || (c == '&' && line[i - 1] == '&') || c == '+' || c == '=' || c == '*');
    bool before = line[i + 1] == ' ' && i + 3 < line.size() && line[i + 2] == '?' && line[i + 3] == ' ';
    if ((after || before) && i > margin) best = {i + 2, open.empty() ? margin + 4 : open.back()};
  }
  return best;
}

}  // namespace

std::string without_unused(const std::string& body) {
  std::vector<std::string> lines = split(body, '\n');
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, int> counts = words_of(lines), held_only;
    for (const std::string& line : lines)
      if (std::string name = held(line); !name.empty()) ++held_only[name];
    std::erase_if(lines, [&](const std::string& line) {
      std::string name = declared(line), array = held(line);
      bool unused =
          (!name.empty() && counts[name] == 1) || (!array.empty() && counts[array] == held_only[array]);
      changed |= unused;
      return unused;
    });
  }
  return join(lines, "\n");
}

std::string folded(const std::string& text) {
  std::string out;
  std::vector<std::string> lines = split(text, '\n');
  for (size_t n = 0; n < lines.size(); ++n) {
    std::string line = lines[n];
    size_t margin = line.find_first_not_of(' ');
    while (line.size() > 110 && line.compare(margin, 2, "//") != 0) {
      Break at = best_break(line, margin);
      if (at.at == 0 || at.indent >= at.at) break;
      out += line.substr(0, at.at - 1) + "\n";
      line = std::string(at.indent, ' ') + line.substr(at.at);
      margin = at.indent;
    }
    out += line + (n + 1 < lines.size() ? "\n" : "");
  }
  return out;
}

}  // namespace stitch::code::loops
