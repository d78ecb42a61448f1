// Objects and libraries by the hash of all inputs. Entries are published atomically, also with concurrent or
// killed builds; a damaged entry counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace stitch::build {

struct CacheEntry {
  fs::path file;
  std::string hash;   // SHA-256 of the file
  std::string notes;  // compiler output
};

class BuildCache {
 public:
  // $STITCHCUDA_CACHE, $XDG_CACHE_HOME/stitchcuda or ~/.cache/stitchcuda.
  static Result<BuildCache> open();
  static Result<BuildCache> open(const fs::path& folder, int64_t size_limit = default_size_limit);

  std::optional<CacheEntry> find(const std::string& key) const;
  // Moves `file` in, as `name`. An existing entry is kept.
  Result<CacheEntry> publish(const std::string& key, const fs::path& file, std::string_view name,
                             std::string_view notes) const;
  // Stores a note under `key`, replacing an earlier one.
  void remember(const std::string& key, std::string_view note) const;
  std::optional<std::string> recall(const std::string& key) const;
  // Removes the oldest entries until the rest is below the limit. Runs at most every ten minutes and keeps
  // entries used in the last hour: another process may be about to load them.
  void trim() const;

  // Held while an entry is created, so that two processes don't compile the same thing.
  class Lock {
   public:
    explicit Lock(int descriptor) : descriptor_(descriptor) {}
    Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Lock& operator=(Lock&&) = delete;
    ~Lock();

   private:
    int descriptor_;
  };
  Lock lock(const std::string& key) const;

  static constexpr int64_t default_size_limit = int64_t{20} << 30;

 private:
  fs::path folder_of(const std::string& key) const;
  fs::path folder_;
  int64_t size_limit_ = default_size_limit;
};

}  // namespace stitch::build
