// All that a source can reach by #include: its hash, and whether it stays inside the program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/file.h"

namespace stitch::build {

class SourceReader {
 public:
  // A program may read its sources' folders and the include folders, recursively.
  SourceReader(const std::vector<fs::path>& sources, std::vector<fs::path> include_dirs);

  // Refused (code build_failed, at file:line): an #include of a file outside.
  Result<std::string> hash(const fs::path& source);
  const std::vector<fs::path>& folders() const { return folders_; }
  // The include folders and all files hashed so far.
  std::vector<fs::path> seen() const;

 private:
  struct Include {
    std::string name;
    int line = 0;
    bool quoted = false;    // searched next to the includer first
    bool computed = false;  // named by a macro
  };
  struct File {
    std::string digest;
    std::vector<Include> includes;
    std::string embeds;  // a token that reads files after preprocessing
  };
  static std::vector<Include> includes_of(std::string_view text);
  Result<const File*> read(const fs::path& path);
  bool inside(const fs::path& path) const;
  std::optional<fs::path> resolve(const Include& include, const fs::path& beside) const;
  std::string hash_everything() const;

  std::vector<fs::path> include_dirs_, folders_;
  std::map<fs::path, File> files_;
};

}  // namespace stitch::build
