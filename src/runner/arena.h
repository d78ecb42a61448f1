// Shared memory that the orchestrator owns and a candidate may see: inputs go out and outputs come back.
//
// A candidate can write to all of it at any time, so whatever is needed again later (an input for the oracle)
// is kept elsewhere too. It can't make it smaller: reading here never ends in SIGBUS.
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

  // Aligned to 256; the arena grows as needed, and what was handed out stays where it is.
  Result<int64_t> allocate(int64_t bytes);
  // Everything handed out after this mark is free again.
  int64_t mark() const { return used_; }
  void release_to(int64_t mark) { used_ = mark; }
  // Memory behind what is free goes back to the system; it is there again, zeroed, when it is used.
  void give_back_memory();

  std::span<std::byte> bytes(int64_t offset, int64_t count);
  // Where bytes of the arena are in it; nothing for other bytes.
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
