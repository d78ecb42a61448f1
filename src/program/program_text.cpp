#include "program/program_text.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace stitch {

namespace {

constexpr std::string_view mark = "// file: ";
constexpr size_t most_files = 1000;

// Of a candidate: nothing else of its folder may be written, above all no headers in include/.
bool is_path_of_program(std::string_view path) {
  if (path.starts_with("regions/")) path.remove_prefix(std::string_view("regions/").size());
  const size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view stem = path.substr(0, dot), extension = path.substr(dot);
  return (extension == ".cu" || extension == ".cuh" || extension == ".h") && stem.size() <= 200 &&
         std::ranges::all_of(stem, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
         });
}

}  // namespace

bool is_several_files(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text.substr(first).starts_with(mark);
}

std::string program_text(const SourceFiles& files) {
  std::string out;
  for (const auto& [path, text] : files) {
    out += std::string(mark) + path + '\n' + text;
    if (!text.empty() && !text.ends_with('\n')) out += '\n';
  }
  return out;
}

Result<SourceFiles> files_of_text(std::string_view text) {
  SourceFiles out;
  std::string* file = nullptr;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    if (line.starts_with(mark)) {
      const std::string path = trim(line.substr(mark.size()));
      if (!is_path_of_program(path))
        return at(path, user_error("program", "no path of a program's file",
                                   "program.cu, NAME.cu, NAME.h, regions/NAME.cu"));
      if (out.contains(path)) return at(path, user_error("program", "the same file twice"));
      if (out.size() == most_files) return user_error("program", format("more than {} files", most_files));
      file = &out[path];
    } else if (file) {
      *file += line;
    } else if (!trim(line).empty()) {
      return user_error("program", "text before the first file", "begin with a line // file: program.cu");
    }
  }
  return out;
}

SourceFiles with_changes(SourceFiles program, const SourceFiles& changes) {
  for (const auto& [path, text] : changes) {
    if (trim(text).empty())
      program.erase(path);
    else
      program[path] = text;
  }
  return program;
}

SourceFiles changes_between(const SourceFiles& before, const SourceFiles& after) {
  SourceFiles out;
  for (const auto& [path, text] : after)
    if (auto old = before.find(path); old == before.end() || old->second != text) out[path] = text;
  for (const auto& [path, text] : before)
    if (!after.contains(path)) out[path] = "";
  return out;
}

}  // namespace stitch
