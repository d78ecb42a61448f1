#include "rubric/code_facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.h"
#include "rubric/units.h"

namespace stitch::rubric {

namespace {

void add_cuda(Units& units, const Source& source, std::string_view text, uint32_t first_line) {
  auto unit = std::make_unique<Unit>();
  unit->path = source.path;
  unit->own = source.own;
  unit->first_line = first_line;
  unit->lexed = lex(text, Language::cuda);
  unit->match = matching_brackets(unit->lexed.tokens);
  unit->functions = cuda_functions(unit->lexed.tokens, unit->match);
  units.cuda.push_back(std::move(unit));
}

// m.def("name", &function, …)
void find_exports(Units& units, const Unit& unit) {
  const std::vector<Token>& tokens = unit.lexed.tokens;
  for (size_t i = 0; i + 5 < tokens.size(); ++i) {
    if (!tokens[i].is("def") || !tokens[i + 1].is("(") || tokens[i + 2].kind != Token::string) continue;
    for (size_t j = i + 3; j < std::min(i + 8, tokens.size()); ++j)
      if (tokens[j].kind == Token::word) {
        units.exported.emplace(inside(tokens[i + 2]), tokens[j].text);
        break;
      }
  }
}

size_t hash_of(std::string_view text) {
  size_t hash = 0;
  bool word = false;
  for (char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (blank) {
      word = false;
      continue;
    }
    hash = hash * 1099511628211u + static_cast<unsigned char>(c) + (word ? 0 : 7);
    word = true;
  }
  return hash;
}

}  // namespace

std::string text(const Place& place) { return format("{}:{}", place.file, place.line); }

std::string_view name(Severity severity) {
  constexpr std::array<std::string_view, 3> names = {"minor", "suspicious", "major"};
  return names[static_cast<size_t>(severity)];
}

int CodeFacts::kernels_at_work() const {
  return static_cast<int>(std::ranges::count_if(kernels, &KernelFacts::at_work));
}

bool Units::is_dead(const FunctionAt& at, size_t token) {
  const std::vector<size_t>& ranges = at.unit->dead[at.number];
  for (size_t i = 0; i + 1 < ranges.size(); i += 2)
    if (ranges[i] <= token && token < ranges[i + 1]) return true;
  return false;
}

Units take_apart(const std::vector<Source>& sources) {
  Units units;
  for (const Source& source : sources) {
    if (source.language == Language::cuda) {
      add_cuda(units, source, source.text, 1);
      continue;
    }
    auto unit = std::make_unique<Unit>();
    unit->path = source.path;
    unit->lexed = lex(source.text, Language::python);
    unit->match = matching_brackets(unit->lexed.tokens);
    unit->outline = python_outline(unit->lexed.tokens);
    for (const Token& token : unit->lexed.tokens)
      if (token.kind == Token::string && holds_cuda(token.text))
        add_cuda(units, source, inside(token), token.line);
    units.python.push_back(std::move(unit));
  }
  for (const auto& unit : units.cuda) {
    unit->dead.resize(unit->functions.size());
    for (size_t f = 0; f < unit->functions.size(); ++f) {
      unit->dead[f] = dead_ranges(*unit, unit->functions[f]);
      units.by_name.emplace(unit->functions[f].name, FunctionAt{unit.get(), &unit->functions[f], f});
    }
    find_exports(units, *unit);
  }
  return units;
}

CodeFacts facts_of(const std::vector<Source>& sources) {
  const Units units = take_apart(sources);
  CodeFacts facts;
  facts.python = !units.python.empty();
  const PythonCalls python = read_python(units, facts);
  read_cuda(units, python, facts);
  find_signs(units, facts);
  for (const Source& source : sources) {
    if (!source.own) continue;
    for (const auto* all : {&units.python, &units.cuda})
      for (const auto& unit : *all)
        if (unit->path == source.path && (all == &units.python || source.language == Language::cuda)) {
          if (sources.size() > 1) facts.code += format("// {}\n", source.path);
          facts.code += unit->lexed.code;
        }
  }
  facts.code_hash = hash_of(facts.code);
  std::set<std::string_view> words;
  for (const auto* all : {&units.python, &units.cuda})
    for (const auto& unit : *all)
      if (unit->own)
        for (const Token& token : unit->lexed.tokens)
          if (token.kind == Token::word) words.insert(token.text);
  facts.words.assign(words.begin(), words.end());
  return facts;
}

}  // namespace stitch::rubric
