#include "rubric/functions.h"

#include <algorithm>

namespace stitch::rubric {

namespace {

bool opens(const Token& token) {
  return token.kind == Token::punctuation && (token.text == "(" || token.text == "[" || token.text == "{");
}
bool closes(const Token& token) {
  return token.kind == Token::punctuation && (token.text == ")" || token.text == "]" || token.text == "}");
}
char partner(char close) { return close == ')' ? '(' : close == ']' ? '[' : '{'; }

bool is_control(std::string_view word) {
  return is_one_of(word, {"if", "for", "while", "switch", "return", "sizeof", "catch", "alignas", "decltype",
                          "__launch_bounds__", "__attribute__", "__align__", "noexcept"});
}

Parameter parameter_of(const std::vector<Token>& tokens, size_t begin, size_t end) {
  Parameter out;
  for (size_t i = begin; i < end; ++i) {
    const Token& token = tokens[i];
    if (token.is("=")) break;
    if (token.is("*", "[")) out.pointer = true;
    if (token.is("[")) break;
    if (token.is("const"))
      out.constant = true;
    else if (token.kind == Token::word && !token.is("__restrict__", "__restrict"))
      out.name = token.text;
  }
  return out;
}

// From the token behind a parameter list to the body's `{`, or the number of tokens if this is no definition.
size_t body_of(const std::vector<Token>& tokens, const std::vector<size_t>& match, size_t at) {
  bool initialisers = false;
  for (int steps = 0; at < tokens.size() && steps < 200; ++steps) {
    const Token& token = tokens[at];
    if (token.is("{")) {
      // `: member{…}` is an initialiser, not the body.
      if (initialisers && tokens[at - 1].kind == Token::word && match[at] + 1 < tokens.size() &&
          (tokens[match[at] + 1].is(",") || tokens[match[at] + 1].is("{"))) {
        at = match[at] + 1;
        continue;
      }
      return at;
    }
    if (token.is(":")) initialisers = true;
    if (token.is(";", "=", ")", "}")) return tokens.size();
    if (token.is(",") && !initialisers) return tokens.size();
    at = opens(token) && match[at] < tokens.size() ? match[at] + 1 : at + 1;
  }
  return tokens.size();
}

}  // namespace

std::vector<size_t> matching_brackets(const std::vector<Token>& tokens) {
  std::vector<size_t> match(tokens.size(), tokens.size()), open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (opens(tokens[i])) open.push_back(i);
    if (!closes(tokens[i]) || open.empty()) continue;
    const char wanted = partner(tokens[i].text[0]);
    if (tokens[open.back()].text[0] != wanted) {
      // Unbalanced: what was opened in between stays without a partner, if there is one at all nearby.
      constexpr size_t look_back = 64;
      size_t back = open.size();
      const size_t last = open.size() > look_back ? open.size() - look_back : 0;
      while (back > last && tokens[open[back - 1]].text[0] != wanted) --back;
      if (back == last) continue;
      open.resize(back);
    }
    match[open.back()] = i;
    match[i] = open.back();
    open.pop_back();
  }
  return match;
}

std::vector<std::pair<size_t, size_t>> arguments(const std::vector<Token>& tokens,
                                                 const std::vector<size_t>& match, size_t begin, size_t end) {
  std::vector<std::pair<size_t, size_t>> out;
  size_t from = begin;
  int angles = 0;
  for (size_t i = begin; i < end; ++i) {
    if (opens(tokens[i]) && match[i] < end)
      i = match[i];
    else if (tokens[i].is("<") && i > begin && tokens[i - 1].kind == Token::word)
      ++angles;
    else if (tokens[i].is(">") && angles > 0)
      --angles;
    else if (tokens[i].is(",") && angles == 0) {
      out.emplace_back(from, i);
      from = i + 1;
    }
  }
  if (from < end) out.emplace_back(from, end);
  return out;
}

std::vector<Function> cuda_functions(const std::vector<Token>& tokens, const std::vector<size_t>& match) {
  std::vector<Function> out;
  size_t head = 0;  // where the declaration at hand begins
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.is(";", "}", "{")) head = i + 1;
    if (token.is("=") && i + 1 < tokens.size() && tokens[i + 1].is("{") && match[i + 1] < tokens.size())
      i = match[i + 1];  // an initialiser
    if (token.kind != Token::word || i + 1 >= tokens.size() || !tokens[i + 1].is("(") ||
        is_control(token.text))
      continue;
    const size_t close = match[i + 1];
    if (close >= tokens.size()) continue;
    const size_t body = body_of(tokens, match, close + 1);
    if (body >= tokens.size()) {
      i = close;
      continue;
    }
    Function function{.name = token.text, .line = token.line, .begin = body + 1};
    function.end = match[body] < tokens.size() ? match[body] : tokens.size();
    for (size_t j = head; j < i; ++j) {
      function.kernel |= tokens[j].is("__global__");
      function.device |= tokens[j].is("__device__");
      function.bounded |= tokens[j].is("__launch_bounds__");
    }
    constexpr size_t most_parameters = 64;
    for (auto [begin, end] : arguments(tokens, match, i + 2, close)) {
      if (function.parameters.size() == most_parameters) break;
      function.parameters.push_back(parameter_of(tokens, begin, end));
    }
    i = std::max(i, function.end);
    head = i + 1;
    out.push_back(std::move(function));
  }
  return out;
}

namespace {

// The end of a block whose statement stands at `indent`: the first newline back to it.
size_t block_end(const std::vector<Token>& tokens, size_t at, uint32_t indent) {
  bool inside_block = false;
  for (; at < tokens.size(); ++at) {
    if (tokens[at].kind != Token::newline) continue;
    if (tokens[at].indent > indent)
      inside_block = true;
    else if (inside_block || at + 1 >= tokens.size() || tokens[at].indent <= indent)
      return at;
  }
  return tokens.size();
}

}  // namespace

PythonOutline python_outline(const std::vector<Token>& tokens) {
  PythonOutline out;
  uint32_t indent = 0;
  bool fresh = true, triton = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == Token::newline) {
      indent = tokens[i].indent;
      fresh = true;
      continue;
    }
    if (fresh && tokens[i].is("@") && i + 1 < tokens.size() && tokens[i + 1].is("triton")) triton = true;
    if (!fresh || i + 1 >= tokens.size()) continue;
    if (tokens[i].is("async")) continue;
    fresh = false;
    if (tokens[i].is("class")) {
      PythonClass each{.name = tokens[i + 1].text, .line = tokens[i].line};
      size_t at = i + 2;
      for (; at < tokens.size() && !tokens[at].is(":") && tokens[at].kind != Token::newline; ++at)
        if (tokens[at].kind == Token::word) each.bases.push_back(tokens[at].text);
      each.begin = at;
      each.end = block_end(tokens, at, indent);
      out.classes.push_back(std::move(each));
    }
    if (tokens[i].is("def")) {
      Function function{.name = tokens[i + 1].text, .kernel = triton, .line = tokens[i].line};
      triton = false;
      size_t at = i + 2;
      int depth = 0;
      for (; at < tokens.size(); ++at) {
        if (tokens[at].is("(")) ++depth;
        if (tokens[at].is(")") && --depth <= 0) break;
        const bool starts = tokens[at - 1].is("(", ",", "*");
        if (depth == 1 && starts && tokens[at].kind == Token::word)
          function.parameters.push_back({.name = tokens[at].text});
        if (tokens[at].kind == Token::newline) break;
      }
      function.begin = std::min(at + 1, tokens.size());
      function.end = std::max(function.begin, block_end(tokens, function.begin, indent));
      for (const PythonClass& each : out.classes)
        if (each.begin <= i && i < each.end) function.owner = each.name;
      out.functions.push_back(std::move(function));
    }
  }
  return out;
}

}  // namespace stitch::rubric
