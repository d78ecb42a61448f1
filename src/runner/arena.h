// Shared memory between orchestrator and candidate: inputs go out, outputs come back.
//
// The candidate can write to all of it at any time: keep a copy of what is needed later (e.g. inputs for the
// oracle). It can't shrink the file, so reading never raises SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace stitch::runner {

class Arena {
 public:
  static Result<Arena> create(int64_t bytes);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  // Aligned to 256. The arena grows as needed; addresses handed out stay valid.
  Result<int64_t> allocate(int64_t bytes);
  // Frees everything allocated after this mark.
  int64_t mark() const { return used_; }
  void release_to(int64_t mark) { used_ = mark; }
  // Returns free pages to the system; they read as zeros when used again.
  void give_back_memory();

  std::span<std::byte> bytes(int64_t offset, int64_t count);
  // The offset of bytes in the arena; empty for other bytes.
  std::optional<int64_t> offset_of(std::span<const std::byte> bytes) const;
  int descriptor() const { return descriptor_; }
  int64_t size() const { return size_; }

 private:
  Arena() = default;
  Result<void> grow_to(int64_t size);
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  int64_t size_ = 0, used_ = 0;
};

}  // namespace stitch::runner
