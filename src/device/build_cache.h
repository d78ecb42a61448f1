// Objects and libraries by the hash of everything that went into them. Entries appear whole or not at all,
// even with concurrent or killed builds; a damaged one counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace stitch::device {

struct CacheEntry {
  fs::path file;
  std::string hash;   // SHA-256 of the file
  std::string notes;  // what the compiler said
};

class BuildCache {
 public:
  // $STITCHCUDA_CACHE, $XDG_CACHE_HOME/stitchcuda or ~/.cache/stitchcuda.
  static Result<BuildCache> open();
  static Result<BuildCache> open(const fs::path& folder, int64_t size_limit = default_size_limit);

  std::optional<CacheEntry> find(const std::string& key) const;
  // Moves `file` in, under `name`. An existing entry is kept.
  Result<CacheEntry> publish(const std::string& key, const fs::path& file, std::string_view name,
                             std::string_view notes) const;
  // A word about `key` that the next one replaces.
  void remember(const std::string& key, std::string_view note) const;
  std::optional<std::string> recall(const std::string& key) const;
  // The oldest go until the rest is below the limit. Looks at most every ten minutes, and leaves alone what
  // was used in the last hour: another process may be about to load it.
  void trim() const;

  // Held while an entry is made, so that two who need the same thing don't both compile it.
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

}  // namespace stitch::device
