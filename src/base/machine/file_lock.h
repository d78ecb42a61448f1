// A locked file of the cache's folder, for processes that must wait for each other. The kernel unlocks it
// when its holder dies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stitch {

class FileLock {
 public:
  enum class Kind : uint8_t { alone, beside_others };
  static Result<FileLock> wait(const std::string& name, Kind kind = Kind::alone);
  // Nothing if another process holds it.
  static Result<std::optional<FileLock>> if_free(const std::string& name, Kind kind = Kind::alone);
  // A description of the holder, for waiting processes; stays in the file until it is overwritten.
  void note(std::string_view holder) const;
  static std::string noted(const std::string& name);
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  static Result<FileLock> open(const std::string& name);
  int descriptor_;
};

// Shares of a limited resource of this machine: a process that needs more than is left waits.

class MachineShare {
 public:
  // Waits until `wanted` of `all` parts of the resource `name` are free.
  static Result<MachineShare> take(const std::string& name, int wanted, int all);
  size_t parts() const { return locks_.size(); }

 private:
  MachineShare() = default;
  std::vector<FileLock> locks_;  // one for each part
};

}  // namespace stitch
