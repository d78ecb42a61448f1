// Shared memory between orchestrator and candidate: inputs go out, outputs come back.
//
// The candidate can write to all of it at any time: keep a copy of what is needed later (e.g. inputs for the
// oracle). It can't shrink the file, so reading never raises SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/machine/descriptor.h"
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

// Device memory that the reference allocated and shares with a candidate, for tensors too large for the host
// arena. This process never accesses it; it keeps the descriptor and the layout.
class DeviceArena {
 public:
  // Bytes needed for tensors of these sizes.
  static int64_t size_for(std::span<const int64_t> sizes);

  static Result<DeviceArena> over(Descriptor descriptor, int64_t bytes);
  DeviceArena(DeviceArena&& other) noexcept;
  DeviceArena& operator=(DeviceArena&&) = delete;
  ~DeviceArena();

  // Aligned to 256, as in Arena; it doesn't grow.
  int64_t allocate(int64_t bytes);
  void clear() { used_ = 0; }

  // Inaccessible host addresses that represent places on the device, to tell them from other bytes.
  std::span<const std::byte> bytes(int64_t offset, int64_t count) const;
  std::optional<int64_t> offset_of(std::span<const std::byte> bytes) const;

  int number() const { return number_; }  // unique in this process
  int descriptor() const { return descriptor_.get(); }
  int64_t size() const { return size_; }

 private:
  DeviceArena(Descriptor descriptor, std::byte* addresses, int64_t size);
  int number_;
  Descriptor descriptor_;
  std::byte* addresses_;
  int64_t size_, used_ = 0;
};

}  // namespace stitch::runner
