#include "notes/words.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace stitch::notes {

namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)); }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)); }
bool joins(char c) { return c == '.' || c == '_' || c == '-'; }

// Endings that don't change what a word means here, the longest first, with what takes their place.
std::string stem(std::string word) {
  struct Ending {
    std::string_view text, instead;
  };
  static constexpr std::array<Ending, 29> endings = {
      {{"izations", "is"}, {"isations", "is"}, {"ization", "is"}, {"isation", "is"}, {"izing", "is"},
       {"ising", "is"},    {"ized", "is"},     {"ised", "is"},    {"izes", "is"},    {"ises", "is"},
       {"ations", ""},     {"ation", ""},      {"ating", ""},     {"ated", ""},      {"ates", ""},
       {"ize", "is"},      {"ise", "is"},      {"ate", ""},       {"ings", ""},      {"ions", ""},
       {"ing", ""},        {"ion", ""},        {"ies", "y"},      {"ed", ""},        {"es", ""},
       {"ly", ""},         {"er", ""},         {"s", ""},         {"e", ""}}};
  if (!std::ranges::all_of(word, is_letter) || word.ends_with("ss")) return word;
  for (const Ending& ending : endings) {
    if (!word.ends_with(ending.text) || word.size() < ending.text.size() + 3) continue;
    word.resize(word.size() - ending.text.size());
    word += ending.instead;
    break;
  }
  // padding, pad; stopping, stop; but wgmma has no ending to take off.
  const size_t n = word.size();
  if (n > 3 && word[n - 1] == word[n - 2] &&
      std::string_view("bdgmnprt").find(word[n - 1]) != std::string::npos)
    word.pop_back();
  return word;
}

void add(std::string word, std::vector<std::string>& out) {
  static constexpr std::array<std::string_view, 30> empty = {
      "a",   "an",   "and",  "are", "as",   "at", "be",   "by",   "can",  "do",
      "for", "from", "has",  "how", "in",   "is", "it",   "my",   "of",   "on",
      "or",  "so",   "that", "the", "this", "to", "what", "when", "with", "why"};
  if (word.size() < 2 || std::ranges::find(empty, word) != empty.end()) return;
  out.push_back(stem(std::move(word)));
}

// The parts between joints, and those of camelCase.
void add_parts(std::string_view token, std::vector<std::string>& out) {
  size_t begin = 0;
  auto cut = [&](size_t end) {
    if (end > begin && (begin > 0 || end < token.size()))
      add(lower_case(token.substr(begin, end - begin)), out);
  };
  for (size_t i = 0; i < token.size(); ++i) {
    if (joins(token[i])) {
      cut(i);
      begin = i + 1;
    } else if (i > begin && is_upper(token[i]) && !is_upper(token[i - 1]) && is_letter(token[i - 1])) {
      cut(i);
      begin = i;
    }
  }
  cut(token.size());
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (size_t i = 0; i < text.size();) {
    if (!is_letter(text[i]) && !is_digit(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]) ||
                                 (joins(text[end]) && end + 1 < text.size() &&
                                  (is_letter(text[end + 1]) || is_digit(text[end + 1])))))
      ++end;
    const std::string_view token = text.substr(i, end - i);
    add(lower_case(token), out);
    add_parts(token, out);
    i = end;
  }
  return out;
}

}  // namespace stitch::notes
