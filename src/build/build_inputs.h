// The files that a compiler read for an object (-MD), and whether they are unchanged: the object's cache key.
// Scanning sources for #include comes first and is quick, but a source can hide an #include from a scanner,
// not from the compiler.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "build/build.h"
#include "build/build_cache.h"

namespace stitch::build {

// The files in a make rule: "target: file file \".
std::vector<std::string> files_in_rule(std::string_view rule);

// The assembler lists what debug information names, without its folder, beside what it opens itself
// (.incbin).
bool was_compiled(const fs::path& listed, const FilesRead& read);

class BuildInputs {
 public:
  // `folders`: the program's and the include folders, in the request's order. Files below them are identified
  // by content and relative path, so that a copy of the program counts as the same; all others (system
  // headers) by path, size and time. Files below `scratch` are our own.
  BuildInputs(std::vector<fs::path> folders, fs::path scratch);

  std::string record(const FilesRead& read) const;
  bool still_so(std::string_view record) const;
  // Files of the record that are below the folders.
  FilesRead program_files(std::string_view record) const;

 private:
  std::string state_of(const std::string& name) const;
  std::string name_of(const fs::path& path) const;  // empty: our own
  fs::path path_of(std::string_view name) const;

  std::vector<fs::path> folders_;
  fs::path scratch_;
};

// Objects by key and by the files read for them.
class ObjectCache {
 public:
  ObjectCache(const BuildCache& cache, BuildInputs inputs) : cache_(cache), inputs_(std::move(inputs)) {}

  struct Object {
    CacheEntry entry;
    FilesRead read;  // of the program's files
  };
  std::optional<Object> find(const std::string& key) const;
  Result<Object> publish(const std::string& key, const fs::path& file, std::string_view notes,
                         const FilesRead& read) const;
  const BuildCache& cache() const { return cache_; }

 private:
  const BuildCache& cache_;
  BuildInputs inputs_;
};

}  // namespace stitch::build
