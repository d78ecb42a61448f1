#include "rubric/code_facts.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/format.h"
#include "program/package.h"
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

namespace {

Result<std::string> read_bounded(const fs::path& path, size_t& left) {
  std::error_code ec;
  const auto size = fs::file_size(path, ec);
  if (!ec && size > left)
    return at(path.string(), user_error("too_large", "the program's sources are larger than 64 MB"));
  STITCH_TRY(std::string text, read_file(path));
  left -= std::min(left, text.size());
  return text;
}

bool is_source(const fs::path& path) {
  for (const char* extension : {".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc"})
    if (path.extension() == extension) return true;
  return false;
}

// *.cu and regions/*.cu, as a package has them; headers beside them.
Result<std::vector<fs::path>> files_of_folder(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const fs::path& place : {folder, folder / "regions"}) {
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator(place, ec))
      if (entry.is_regular_file(ec) && is_source(entry.path())) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  if (out.empty())
    return at(folder.string(), user_error("no_program", "no CUDA source in this folder",
                                          "name a program folder, a .cu file, or a .py file with ModelNew"));
  return out;
}

// #include "stitch/…" and what lies beside the program, each file once.
Result<void> add_includes(std::vector<Source>& sources, const fs::path& folder, size_t& left) {
  std::set<std::string> known;
  for (const Source& source : sources) known.insert(source.path);
  std::vector<fs::path> places = {folder, folder / "include"};
  if (auto files = find_program_files()) places.push_back(*files / "include");
  for (size_t i = 0; i < sources.size(); ++i) {  // grows
    if (sources[i].language != Language::cuda) continue;
    const std::string text = sources[i].text;  // its place in the vector may change
    for (std::string_view include : lex(text, Language::cuda).includes) {
      const std::string header(include.substr(1, include.size() - 2));
      const bool ours = header.starts_with("stitch/");
      if (header.find("..") != std::string::npos || header.starts_with("/") || (include[0] == '<' && !ours) ||
          !known.insert(header).second)
        continue;
      for (const fs::path& place : places) {
        std::error_code ec;
        if (!fs::is_regular_file(place / header, ec)) continue;
        STITCH_TRY(std::string content, read_bounded(place / header, left));
        sources.push_back({header, Language::cuda, std::move(content), !ours});
        break;
      }
    }
  }
  return {};
}

// load(name="ext", sources=["kernels.cu"]): files beside a Python candidate.
Result<void> add_extensions(std::vector<Source>& sources, const fs::path& folder, size_t& left) {
  const std::string text = sources[0].text;
  std::set<std::string> known;
  for (const Token& token : lex(text, Language::python).tokens) {
    if (token.kind != Token::string) continue;
    const std::string name(inside(token));
    std::error_code ec;
    constexpr size_t longest_name = 200;
    if (name.size() > longest_name || name.find("..") != std::string::npos || name.starts_with("/") ||
        name.find('\0') != std::string::npos || !is_source(name) || !known.insert(name).second ||
        !fs::is_regular_file(folder / name, ec))
      continue;
    STITCH_TRY(std::string content, read_bounded(folder / name, left));
    sources.push_back({name, Language::cuda, std::move(content)});
  }
  return {};
}

}  // namespace

Result<std::vector<Source>> read_sources(const fs::path& program) {
  std::error_code ec;
  if (!fs::exists(program, ec))
    return at(program.string(), user_error("no_file", "no such program",
                                           "name a program folder, a .cu file, or a .py file with ModelNew"));
  const bool folder = fs::is_directory(program, ec);
  std::vector<fs::path> files = {program};
  if (folder) {
    STITCH_TRY(files, files_of_folder(program));
  }
  size_t left = most_source_bytes;
  std::vector<Source> out;
  for (const fs::path& file : files) {
    STITCH_TRY(std::string text, read_bounded(file, left));
    out.push_back({folder ? fs::relative(file, program, ec).generic_string() : file.filename().string(),
                   file.extension() == ".py" ? Language::python : Language::cuda, std::move(text)});
  }
  if (out[0].language == Language::python) STITCH_CHECK(add_extensions(out, program.parent_path(), left));
  STITCH_CHECK(add_includes(out, folder ? program : program.parent_path(), left));
  return out;
}

}  // namespace stitch::rubric
