// Files that are either whole or not there: everything is written under a temporary name and renamed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/result.h"

namespace stitch {

namespace fs = std::filesystem;

Result<std::string> read_file(const fs::path& path);
Result<void> write_file(const fs::path& path, std::string_view content);

// Where results worth keeping are kept: $STITCHCUDA_CACHE, $XDG_CACHE_HOME/stitchcuda, ~/.cache/stitchcuda,
// or, for those without a home, a folder under the system's temporary one.
fs::path cache_folder();

// Why no file could be made in the folder, or, where it isn't there yet, the folder itself: tried, since
// permissions alone say little (a read-only file system, /proc). Falsy where it could.
std::error_code try_writing_below(const fs::path& folder);

// Absolute, without links or ".." above the last name, which stays: the python of a virtual environment is a
// link, and where it lies says which environment it is.
fs::path with_real_parent(const fs::path& path);

// A read-only view of a whole file.
class MappedFile {
 public:
  static Result<MappedFile> open(const fs::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A new folder beside `target`, to be renamed to it. Those of processes that are gone are removed first; an
// old target that one of them had put aside comes back.
Result<fs::path> make_draft_beside(const fs::path& target);

// A folder under the system's temporary folder, removed with the object. Its name says whose it is, and the
// first one that a process makes removes those of processes that are gone.
class ScratchFolder {
 public:
  static Result<ScratchFolder> create(std::string_view prefix);
  // In memory where there is a file system for that, for tensors that cross between processes.
  static Result<ScratchFolder> create_in_memory(std::string_view prefix);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const fs::path& path() const { return path_; }

 private:
  ScratchFolder() = default;
  static Result<ScratchFolder> create_below(const fs::path& base, std::string_view prefix);
  fs::path path_;
};

// SPACE-PID-START: tells a process from every other one of this machine, also from a later one of its number.
std::string this_process();
// Only if that is certain: a process of another machine or container can't be checked.
bool is_gone(std::string_view process);

// Removes scratch folders below `base` whose owner, told by its process number and the time it started, is
// gone.
void remove_scratch_of_the_dead(const fs::path& base);

}  // namespace stitch
