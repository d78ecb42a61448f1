#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/machine/process.h"
#include "base/text.h"
#include "program/package.h"

namespace stitch {

namespace {

constexpr size_t most_sources = 5'000;
constexpr uintmax_t most_bytes = 64u << 20;  // of one source
constexpr std::string_view raw_begin = "R\"manifest(", raw_end = ")manifest\"";

Error bad(const fs::path& where, std::string message, std::string fix = {}) {
  return at(where.string(), user_error("package", std::move(message), std::move(fix)));
}

// Only plain files: a link could lead anywhere.
Result<void> add_sources(const fs::path& folder, std::vector<fs::path>& out) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().extension() != ".cu") continue;
    if (!fs::is_regular_file(entry->symlink_status()))
      return bad(entry->path(), "this source is a link or no file", "put a copy of the file in its place");
    out.push_back(entry->path());
    if (out.size() > most_sources) return bad(folder, format("more than {} sources", most_sources));
  }
  if (failed) return bad(folder, "cannot be read: " + failed.message());
  return {};
}

struct Found {
  std::string text;
  fs::path where;
};

Result<std::optional<Found>> find_manifest(const std::vector<fs::path>& sources) {
  std::optional<Found> found;
  for (const fs::path& source : sources) {
    std::error_code failed;
    if (fs::file_size(source, failed) > most_bytes || failed)
      return bad(source, failed ? "cannot be read" : "larger than 64 MB");
    STITCH_TRY(std::string text, read_file(source));
    size_t begin = text.find(raw_begin);
    if (begin == std::string::npos) continue;
    if (found) return bad(source, format("a second manifest; the first one is in {}", found->where.string()));
    begin += raw_begin.size();
    size_t end = text.find(raw_end, begin);
    if (end == std::string::npos) return bad(source, "the manifest's raw string does not end");
    found = Found{text.substr(begin, end - begin), source};
    if (text.find(raw_begin, end) != std::string::npos) return bad(source, "two manifests");
  }
  return found;
}

Result<Manifest> parse_at(const fs::path& where, std::string_view text) {
  auto parsed = parse_manifest(text);
  if (parsed) return parsed;
  Error error = std::move(parsed).error();
  error.where = error.where.empty() ? where.string() : format("{}: {}", where.string(), error.where);
  return error;
}

Result<Manifest> load_manifest(const fs::path& folder, const fs::path& beside,
                               const std::vector<fs::path>& sources) {
  STITCH_TRY(std::optional<Found> found, find_manifest(sources));
  std::error_code ignored;
  bool has_file = !beside.empty() && fs::exists(beside, ignored);
  // A single file may keep it in a header, or make it: what it exports counts.
  if (!found && beside.empty()) return Manifest{};
  if (!found && !has_file)
    return bad(
        folder, "no source holds a manifest",
        "return R\"manifest({…})manifest\" from stitch_manifest(); the fields are in src/program/README.md");
  std::optional<Manifest> manifest;
  if (found) {
    STITCH_TRY(manifest, parse_at(found->where, found->text));
  }
  if (has_file) {
    STITCH_TRY(std::string text, read_file(beside));
    STITCH_TRY(Manifest said, parse_at(beside, text));
    if (manifest && *manifest != said)
      return bad(beside, format("says something else than {}", found->where.string()),
                 "the source is what counts: remove this file, or write it again");
    manifest = std::move(said);
  }
  return *std::move(manifest);
}

}  // namespace

Result<fs::path> find_program_files() {
  std::vector<fs::path> places;
  if (const char* home = std::getenv("STITCHCUDA_HOME")) places.push_back(fs::path(home) / "src/program");
  places.push_back(executable_folder().parent_path() / "share/stitchcuda/program");
#ifdef STITCH_PROGRAM_FILES
  places.emplace_back(STITCH_PROGRAM_FILES);
#endif
  std::error_code ignored;
  for (const fs::path& place : places)
    if (fs::exists(place / "include/stitch/program.h", ignored)) return fs::weakly_canonical(place, ignored);
  return work_error("no_headers", "the headers that programs include (stitch/program.h) were not found",
                    "set STITCHCUDA_HOME to the project's folder");
}

Result<Package> load_package(const fs::path& folder_or_file) {
  std::error_code failed;
  Package package;
  fs::path beside;
  fs::file_status status = fs::status(folder_or_file, failed);
  if (!fs::exists(status))
    return bad(folder_or_file, "there is no such program", "give a package's folder or a .cu file");
  if (fs::is_directory(status)) {
    package.folder = fs::absolute(folder_or_file).lexically_normal();
    if (!fs::exists(package.folder / "program.cu", failed))
      return bad(folder_or_file, "this folder holds no program.cu, so it is no program");
    STITCH_CHECK(add_sources(package.folder, package.sources));
    if (fs::is_directory(package.folder / "regions", failed))
      STITCH_CHECK(add_sources(package.folder / "regions", package.sources));
    std::ranges::sort(package.sources);
    beside = package.folder / "manifest.json";
  } else if (folder_or_file.extension() == ".cu") {
    package.sources = {fs::absolute(folder_or_file).lexically_normal()};
    package.folder = package.sources[0].parent_path();
  } else {
    return bad(folder_or_file, "neither a folder nor a .cu file");
  }

  STITCH_TRY(package.manifest, load_manifest(folder_or_file, beside, package.sources));
  package.libraries = package.manifest.libraries;
  for (const fs::path& file : package.sources) {
    STITCH_TRY(const std::string source, read_file(file));
    add_included_libraries(source, package.libraries);
  }
  if (!beside.empty())
    for (const ManifestRegion& region : package.manifest.regions)
      if (!fs::exists(package.folder / region.file, failed))
        return bad(folder_or_file, format("the region '{}' is said to be in {}, which is not there",
                                          region.name, region.file));

  if (fs::exists(package.folder / "include/stitch/program.h", failed)) {
    package.include_dirs = {package.folder / "include"};
  } else {
    STITCH_TRY(fs::path files, find_program_files());
    package.include_dirs = {files / "include"};
  }
  return package;
}

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
