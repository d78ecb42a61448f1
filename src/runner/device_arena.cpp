#include "runner/device_arena.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error_codes.h"

namespace stitch::runner {

namespace {

constexpr int64_t arena_alignment = 256;

int64_t rounded(int64_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

}  // namespace

int64_t DeviceArena::size_for(std::span<const int64_t> sizes) {
  int64_t sum = 0;
  for (int64_t bytes : sizes) sum += rounded(bytes);
  return sum;
}

Result<DeviceArena> DeviceArena::over(Descriptor descriptor, int64_t bytes) {
  require(bytes > 0, "an arena has room for something");
  void* addresses = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED)
    return work_error(error_code::memory,
                      format("no addresses for the device's memory: {}", std::strerror(errno)));
  return DeviceArena(std::move(descriptor), static_cast<std::byte*>(addresses), bytes);
}

DeviceArena::DeviceArena(Descriptor descriptor, std::byte* addresses, int64_t size)
    : descriptor_(std::move(descriptor)), addresses_(addresses), size_(size) {
  static std::atomic<int> made = 0;
  number_ = ++made;
}

DeviceArena::DeviceArena(DeviceArena&& other) noexcept
    : number_(other.number_),
      descriptor_(std::move(other.descriptor_)),
      addresses_(std::exchange(other.addresses_, nullptr)),
      size_(other.size_),
      used_(other.used_) {}

DeviceArena::~DeviceArena() {
  if (addresses_) ::munmap(addresses_, static_cast<size_t>(size_));
}

int64_t DeviceArena::allocate(int64_t bytes) {
  require(bytes >= 0 && used_ + rounded(bytes) <= size_, "a device arena has room for what it was made for");
  return std::exchange(used_, used_ + rounded(bytes));
}

std::span<const std::byte> DeviceArena::bytes(int64_t offset, int64_t count) const {
  require(offset >= 0 && count >= 0 && offset + count <= size_, "a place outside the device arena");
  return {addresses_ + offset, static_cast<size_t>(count)};
}

std::optional<int64_t> DeviceArena::offset_of(std::span<const std::byte> bytes) const {
  const std::byte* begin = bytes.data();
  if (!begin || begin < addresses_ || begin + bytes.size() > addresses_ + size_) return std::nullopt;
  return begin - addresses_;
}

}  // namespace stitch::runner
