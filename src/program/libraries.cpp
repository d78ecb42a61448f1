#include "program/libraries.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace stitch {

namespace {

// <cublas_v2.h> of a line; nullopt: the line includes nothing.
std::optional<std::string_view> included_by(std::string_view line) {
  auto skip_blanks = [&] {
    while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
  };
  constexpr std::string_view directive = "include";
  skip_blanks();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with(directive)) return std::nullopt;
  line.remove_prefix(directive.size());
  skip_blanks();
  if (line.empty() || (line[0] != '<' && line[0] != '"')) return std::nullopt;
  const size_t end = line.find_first_of(">\"", 1);
  return line.substr(1, end == line.npos ? line.npos : end - 1);
}

std::string_view library_of(std::string_view header) {
  if (header == "cublasLt.h") return "cublasLt";
  if (header == "cublas_v2.h" || header == "cublas_api.h" || header == "cublas.h") return "cublas";
  return header.starts_with("cudnn") ? "cudnn" : "";
}

}  // namespace

bool is_known_library(std::string_view name) {
  return std::ranges::find(known_libraries, name) != known_libraries.end();
}

void add_included_libraries(std::string_view source, std::vector<std::string>& libraries) {
  while (!source.empty()) {
    const size_t end = std::min(source.find('\n'), source.size());
    if (const auto header = included_by(source.substr(0, end)))
      if (const std::string_view library = library_of(*header);
          !library.empty() && std::ranges::find(libraries, library) == libraries.end())
        libraries.emplace_back(library);
    source.remove_prefix(std::min(end + 1, source.size()));
  }
}

}  // namespace stitch
