// Memory of the device that the reference made and shares with a candidate: what is too large for the host's
// arena crosses there. This process never looks into it; it keeps the descriptor and says who puts what
// where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/descriptor.h"

namespace stitch::runner {

class DeviceArena {
 public:
  // What tensors of these sizes take in an arena.
  static int64_t size_for(std::span<const int64_t> sizes);

  static Result<DeviceArena> over(Descriptor descriptor, int64_t bytes);
  DeviceArena(DeviceArena&& other) noexcept;
  DeviceArena& operator=(DeviceArena&&) = delete;
  ~DeviceArena();

  // Aligned to 256, as in Arena; it doesn't grow: whoever made it knew what would be asked.
  int64_t allocate(int64_t bytes);
  void clear() { used_ = 0; }

  // Addresses that stand for places on the device, so that they can be told from other bytes. Nobody can
  // read or write there.
  std::span<const std::byte> bytes(int64_t offset, int64_t count) const;
  std::optional<int64_t> offset_of(std::span<const std::byte> bytes) const;

  int number() const { return number_; }  // no other arena of this process has had it
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
