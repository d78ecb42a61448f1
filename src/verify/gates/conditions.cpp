// Text of a program that one compiler sees and another doesn't. A verdict on the emulated GPU says nothing of
// what nvcc compiles instead, so it names every condition that asks for the compiler or the device.
//
// Deliberately no preprocessor: a line that looks like such a condition counts, also within a comment, so
// that nothing has to be understood about the text around it. Conditions about names of the program's own are
// the same for both compilers.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_in_word(char c) { return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)); }

// Reserved names are compilers' and their headers'; the others are CUDA's and ours.
bool is_of_compiler(std::string_view name) {
  constexpr std::array<std::string_view, 7> beginnings = {"STITCH_", "CUD", "cud", "CUB", "NV", "nv", "M_"};
  if (name == "__cplusplus") return false;
  const bool reserved =
      name.starts_with("__") || (name.size() > 1 && name[0] == '_' && std::isupper(name[1]));
  return reserved ||
         std::ranges::any_of(beginnings, [&](std::string_view each) { return name.starts_with(each); });
}

bool is_include_guard(std::string_view name) {
  while (name.ends_with('_')) name.remove_suffix(1);
  return name.ends_with("_H") || name.ends_with("_HPP") || name.ends_with("_CUH");
}

// What stands behind the # of a line that could be a directive; empty: it couldn't.
std::string_view directive_of(std::string_view line) {
  const size_t mark = std::min(line.find('#'), line.find("%:"));
  if (mark == line.npos) return {};
  const std::string before = trim(line.substr(0, mark));
  if (!before.empty() && !before.ends_with("*/")) return {};
  return line.substr(mark + (line[mark] == '#' ? 1 : 2));
}

// A compiler's macro in plain text, or behind a #define: what it stands for is another text, too. Names and
// places are for messages.
bool names_compiler(std::string_view line) {
  constexpr std::array<std::string_view, 3> places = {"__FILE__", "__LINE__", "__FUNCTION__"};
  const size_t comment = line.find("//");
  if (comment != line.npos && line.substr(0, comment).find('"') == line.npos) line = line.substr(0, comment);
  for (size_t i = 0; i < line.size();) {
    if (!is_in_word(line[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < line.size() && is_in_word(line[end])) ++end;
    const std::string_view word = line.substr(i, end - i);
    i = end;
    const bool macro = word.starts_with("__") && word.ends_with("__") &&
                       std::ranges::none_of(word, [](unsigned char c) { return std::islower(c); });
    if (macro && !is_include_guard(word) && std::ranges::find(places, word) == places.end()) return true;
    if (word == "STITCH_EMULATED" || word == "__clang__" || word.starts_with("stitch_emulated")) return true;
  }
  return false;
}

bool asks_for_compiler(std::string_view line) {
  if (names_compiler(line)) return true;
  const std::string_view directive = directive_of(line);
  bool condition = false, guard = false;
  for (size_t i = 0; i < directive.size();) {
    if (!is_letter(directive[i])) {
      // A comment that goes on in the next line may hide the rest.
      if (directive.substr(i).starts_with("/*") && directive.find("*/", i) == directive.npos) return true;
      ++i;
      continue;
    }
    size_t end = i;
    while (end < directive.size() && is_in_word(directive[end])) ++end;
    const std::string_view word = directive.substr(i, end - i);
    i = end;
    if (!condition) {
      condition = word.starts_with("if") || word.starts_with("elif");
      guard = word == "ifndef";
      if (!condition) return false;
    } else if (is_of_compiler(word) && !(guard && is_include_guard(word))) {
      return true;
    }
  }
  return false;
}

// Continued lines are one.
std::vector<std::string> conditions_in(std::string_view source, const std::string& name) {
  std::vector<std::string> out;
  std::string whole;
  size_t number = 0, first = 1;
  for (std::string line : split(source, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.pop_back();
    whole += line;
    if (goes_on) continue;
    if (asks_for_compiler(whole)) out.push_back(format("{}:{}", name, first));
    whole.clear();
    first = number + 1;
  }
  return out;
}

}  // namespace

std::vector<std::string> conditions_on_compiler(const Package& package, const build::FilesRead& read) {
  std::vector<std::string> out;
  const auto files = find_program_files();
  std::error_code ec;
  const fs::path folder = fs::weakly_canonical(package.folder, ec);
  for (const auto& [path, hash] : read) {
    const std::string name = fs::weakly_canonical(path, ec).lexically_relative(folder).generic_string();
    // Our own headers, here or as a program's copy of them.
    const auto is_ours = [&](const fs::path& include) {
      const fs::path below = path.lexically_relative(include);
      if (!files || below.empty() || *below.begin() == "..") return false;
      const auto ours = sha256_of_file(*files / "include" / below);
      return ours && *ours == hash;
    };
    if (std::ranges::any_of(package.include_dirs, is_ours)) continue;
    const auto source = read_file(path);
    if (!source || sha256(*source) != hash)
      out.push_back(name + ", which has changed since");
    else
      for (std::string& each : conditions_in(*source, name)) out.push_back(std::move(each));
  }
  return out;
}

}  // namespace stitch::verifier
