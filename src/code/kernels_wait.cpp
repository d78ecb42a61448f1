#include "code/kernels_wait.h"

#include <algorithm>

#include "emulator/tokens.h"

namespace stitch::code {

namespace {

constexpr std::string_view kernel_word = "__global__";

size_t mentions(std::string_view source) {
  size_t out = 0;
  for (size_t at = source.find(kernel_word); at != source.npos; at = source.find(kernel_word, at + 1)) ++out;
  return out;
}

}  // namespace

Waits waits_of(std::string_view source) {
  Waits out;
  const std::vector<emulated::Token> tokens = emulated::tokenize(source);
  auto text = [&](size_t i) { return source.substr(tokens[i].begin, tokens[i].end - tokens[i].begin); };
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (text(i) != kernel_word) continue;
    int open = 0;
    size_t body = i;
    for (; body < tokens.size() && (open != 0 || (text(body) != "{" && text(body) != ";")); ++body)
      open += text(body) == "(" ? 1 : text(body) == ")" ? -1 : 0;
    if (body == tokens.size() || text(body) == ";") continue;  // a declaration
    ++out.kernels;
    std::string statement;
    for (size_t j = body + 1; j < tokens.size() && text(j) != ";" && statement.size() < 80; ++j)
      statement += text(j);
    if (statement != "wait_for_previous_kernel()" && statement != "stitch::wait_for_previous_kernel()")
      out.without.push_back(statement);
  }
  return out;
}

bool launches_wait(std::string_view source) {
  const std::vector<emulated::Token> tokens = emulated::tokenize(source);
  const bool launches = std::ranges::any_of(tokens, [&](const emulated::Token& token) {
    return source.substr(token.begin, token.end - token.begin).starts_with("launch");
  });
  if (!launches) return true;
  const Waits waits = waits_of(source);
  return waits.without.empty() && static_cast<size_t>(waits.kernels) == mentions(source);
}

}  // namespace stitch::code
