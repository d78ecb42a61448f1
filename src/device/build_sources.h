// What a source can reach by #include: the hash of it all, and whether it stays inside the program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/file.h"

namespace stitch::device {

class SourceReader {
 public:
  // A program may read the folders its sources are in and the include folders, all with what is below them.
  SourceReader(const std::vector<fs::path>& sources, std::vector<fs::path> include_dirs);

  // Refused (code build_failed, at file:line): an #include that leads outside.
  Result<std::string> hash(const fs::path& source);
  const std::vector<fs::path>& folders() const { return folders_; }
  // The include folders, and every file that was hashed so far.
  std::vector<fs::path> seen() const;

 private:
  struct Include {
    std::string name;
    int line = 0;
    bool quoted = false;    // looked for beside the includer first
    bool computed = false;  // by a macro: could be anything
  };
  struct File {
    std::string digest;
    std::vector<Include> includes;
    std::string embeds;  // a word that reads files behind the preprocessor's back
  };
  static std::vector<Include> includes_of(std::string_view text);
  Result<const File*> read(const fs::path& path);
  bool inside(const fs::path& path) const;
  std::optional<fs::path> resolve(const Include& include, const fs::path& beside) const;
  std::string hash_everything() const;

  std::vector<fs::path> include_dirs_, folders_;
  std::map<fs::path, File> files_;
};

}  // namespace stitch::device
