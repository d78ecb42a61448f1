#include "runner/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/division.h"
#include "base/error_codes.h"
#include "base/text.h"

namespace stitch::runner {

namespace {

constexpr int64_t alignment = 256;
constexpr int64_t smallest = int64_t{1} << 20;
// Reserves address space only: the file grows below the fixed mapping.
constexpr int64_t reserved = int64_t{1} << 38;

Error no_memory(int64_t bytes) {
  return work_error(error_code::memory, format("cannot share {} of memory with a candidate: {}",
                                               bytes_text(static_cast<double>(bytes)), std::strerror(errno)));
}

}  // namespace

Result<Arena> Arena::create(int64_t bytes) {
  Arena arena;
  arena.descriptor_ = ::memfd_create("stitch-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (arena.descriptor_ < 0) return no_memory(bytes);
  if (::fcntl(arena.descriptor_, F_ADD_SEALS, F_SEAL_SHRINK) != 0) return no_memory(bytes);
  void* data = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_SHARED, arena.descriptor_, 0);
  if (data == MAP_FAILED) return no_memory(bytes);
  arena.data_ = static_cast<std::byte*>(data);
  STITCH_CHECK(arena.grow_to(std::max(bytes, smallest)));
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      used_(std::exchange(other.used_, 0)) {}

Arena::~Arena() {
  if (data_) ::munmap(data_, reserved);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> Arena::grow_to(int64_t size) {
  size = rounded_up(size, smallest);
  errno = ENOMEM;
  if (size > reserved || ::ftruncate(descriptor_, size) != 0) return no_memory(size);
  size_ = size;
  return {};
}

Result<int64_t> Arena::allocate(int64_t bytes) {
  require(bytes >= 0, "a piece of an arena has no negative size");
  const int64_t offset = rounded_up(used_, alignment);
  // Grow by half, so that small allocations stay cheap.
  if (offset + bytes > size_) STITCH_CHECK(grow_to(std::max(offset + bytes, size_ + size_ / 2)));
  used_ = offset + bytes;
  return offset;
}

void Arena::give_back_memory() {
  const int64_t free = rounded_up(used_, 4096);
  if (free < size_) ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, free, size_ - free);
}

std::span<std::byte> Arena::bytes(int64_t offset, int64_t count) {
  require(offset >= 0 && count >= 0 && offset + count <= size_, "a place outside the arena");
  return {data_ + offset, static_cast<size_t>(count)};
}

std::optional<int64_t> Arena::offset_of(std::span<const std::byte> bytes) const {
  const std::byte* begin = bytes.data();
  if (!begin || begin < data_ || begin + bytes.size() > data_ + size_) return std::nullopt;
  return begin - data_;
}

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
