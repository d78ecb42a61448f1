// What a compiler read for an object, by its own account (-MD), and whether it would read the same again:
// what the cache knows an object by. Scanning sources for #include comes first and is quick; a source can
// hide an #include from a scanner, not from the compiler.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/build_cache.h"

namespace stitch::device {

// The files in a dependency rule as compilers and assemblers write them: "target: file file \".
std::vector<std::string> files_in_rule(std::string_view rule);

class BuildInputs {
 public:
  // `folders`: the program's and the include folders, in the request's order. Files below them are known by
  // content and by their place below the folder, so that a copy of the program elsewhere counts as the same;
  // all others (the system's headers) by path, size and time. Files below `scratch` are our own.
  BuildInputs(std::vector<fs::path> folders, fs::path scratch);

  std::string record(const std::vector<fs::path>& read) const;
  bool still_so(std::string_view record) const;
  // Those below the folders.
  std::vector<fs::path> program_files(std::string_view record) const;

 private:
  std::string state_of(const std::string& name) const;
  std::string name_of(const fs::path& path) const;  // empty: our own
  fs::path path_of(std::string_view name) const;

  std::vector<fs::path> folders_;
  fs::path scratch_;
};

// Objects by their key and by what was read for them.
class ObjectCache {
 public:
  ObjectCache(const BuildCache& cache, BuildInputs inputs) : cache_(cache), inputs_(std::move(inputs)) {}

  struct Object {
    CacheEntry entry;
    std::vector<fs::path> read;  // of the program's files
  };
  std::optional<Object> find(const std::string& key) const;
  Result<Object> publish(const std::string& key, const fs::path& file, std::string_view notes,
                         const std::vector<fs::path>& read) const;
  const BuildCache& cache() const { return cache_; }

 private:
  const BuildCache& cache_;
  BuildInputs inputs_;
};

}  // namespace stitch::device
