#include "rubric/sources.h"

#include <algorithm>
#include <set>

#include "program/package.h"

namespace stitch::rubric {

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
