// Device memory that the reference allocated and shares with a candidate, for tensors too large for the host
// arena. This process never accesses it; it keeps the descriptor and the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/machine/descriptor.h"

namespace stitch::runner {

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
