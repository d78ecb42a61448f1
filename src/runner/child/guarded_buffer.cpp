#include "runner/child/guarded_buffer.h"

#include <sys/random.h>

#include <cstring>
#include <span>
#include <utility>

namespace stitch::runner {

namespace {

constexpr int64_t guard = 4096;         // on each side, at least
constexpr int64_t alignment = 256;      // as cudaMalloc gives
constexpr uint64_t address_steps = 64;  // start addresses inside an allocation

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::byte guard_byte(Address address) {
  return static_cast<std::byte>(mixed(process_secret() ^ (address / 8)) >> (address % 8 * 8));
}

}  // namespace

uint64_t process_secret() {
  static const uint64_t secret = [] {
    uint64_t value = 0;
    return ::getrandom(&value, sizeof value, 0) == sizeof value ? value
                                                                : mixed(reinterpret_cast<uint64_t>(&value));
  }();
  return secret;
}

uint32_t poison_word(DType dtype, uint64_t poison, Filling filling) {
  const uint64_t bits = mixed(poison);
  if (!is_floating(dtype)) return static_cast<uint32_t>(bits);
  // 2 to 7 in fp16, bfloat16 and FP32, and no larger than 1e5 as a double.
  if (filling == Filling::finite)
    return static_cast<uint32_t>(0x40004000 | (bits & 0x00ff0000) | (bits & 0xff));
  // Each half is a NaN in fp16 and bfloat16; the upper one makes the word a NaN in FP32 and FP64.
  auto half = [](uint64_t random) {
    return static_cast<uint32_t>(0x7ff0 | (random % 15 + 1) | (random & 0x8000));
  };
  return half(bits) << 16 | half(bits >> 16);
}

Result<GuardedBuffer> GuardedBuffer::create(Backend& backend, const TensorType& type, int misalign,
                                            uint32_t word) {
  static uint64_t turn = 0;
  const int64_t shift = static_cast<int64_t>(mixed(process_secret() + ++turn) % address_steps) * alignment;
  const int64_t before = guard + shift + misalign * size_of(type.dtype);
  GuardedBuffer buffer;
  buffer.backend_ = &backend;
  buffer.type_ = type;
  buffer.total_ = (before + type.bytes() + guard + alignment - 1) / alignment * alignment;
  STITCH_TRY(buffer.base_, backend.allocate(buffer.total_));
  buffer.address_ = buffer.base_ + static_cast<Address>(before);
  STITCH_CHECK(backend.fill(buffer.base_, word, buffer.total_ / static_cast<int64_t>(sizeof word)));
  STITCH_CHECK(buffer.write_guards());
  return buffer;
}

Result<GuardedBuffer> GuardedBuffer::create_fenced(Backend& backend, const TensorType& type, Fence fence,
                                                   uint32_t word) {
  constexpr int64_t vector_bytes = 16;
  const int64_t bytes = type.bytes();
  if (fence == Fence::none || bytes == 0) return create(backend, type, 0, word);
  GuardedBuffer buffer;
  buffer.backend_ = &backend;
  buffer.type_ = type;
  buffer.guarded_ = false;
  buffer.total_ = bytes;
  STITCH_TRY(buffer.base_,
             backend.allocate_fenced(bytes, fence == Fence::exact_end ? size_of(type.dtype) : vector_bytes,
                                     fence == Fence::start));
  buffer.address_ = buffer.base_;
  STITCH_CHECK(buffer.poison(word));
  return buffer;
}

Result<void> GuardedBuffer::poison(uint32_t word) {
  const int64_t bytes = type_.bytes();
  const int64_t words = address_ % sizeof word ? 0 : bytes / static_cast<int64_t>(sizeof word);
  STITCH_CHECK(backend_->fill(address_, word, words));
  const Address rest = address_ + static_cast<Address>(words * static_cast<int64_t>(sizeof word));
  const std::vector<uint32_t> left(static_cast<size_t>(bytes / 4 - words + 1), word);
  return backend_->upload(rest, std::as_bytes(std::span(left)).first(static_cast<size_t>(bytes - 4 * words)));
}

Result<void> GuardedBuffer::write_guards() {
  auto write = [&](Address begin, Address end) -> Result<void> {
    std::vector<std::byte> bytes(end - begin);
    for (Address at = begin; at < end; ++at) bytes[at - begin] = guard_byte(at);
    STITCH_CHECK(backend_->upload(begin, bytes));
    backend_->forbid(begin, static_cast<int64_t>(end - begin));
    return {};
  };
  STITCH_CHECK(write(base_, address_));
  return write(address_ + static_cast<Address>(type_.bytes()), base_ + static_cast<Address>(total_));
}

Result<std::string> GuardedBuffer::damage() const {
  if (!guarded_) return std::string();
  const Address end = address_ + static_cast<Address>(type_.bytes());
  auto damage_in = [&](Address from, Address to, bool after) -> Result<std::string> {
    std::vector<std::byte> bytes(to - from);
    backend_->permit(from, static_cast<int64_t>(to - from));
    STITCH_CHECK(backend_->download(bytes, from));
    backend_->forbid(from, static_cast<int64_t>(to - from));
    int64_t count = 0, nearest = 0;
    for (Address at = from; at < to; ++at) {
      if (bytes[at - from] == guard_byte(at)) continue;
      const int64_t distance = static_cast<int64_t>(after ? at - end : address_ - at);
      if (count++ == 0 || (!after && distance < nearest)) nearest = distance;
    }
    if (count == 0) return std::string();
    return format("{} bytes {}, the nearest {} bytes {}", count, after ? "past its end" : "before its start",
                  nearest, after ? "past it" : "before it");
  };
  STITCH_TRY(std::string before, damage_in(base_, address_, false));
  STITCH_TRY(std::string after, damage_in(end, base_ + static_cast<Address>(total_), true));
  if (before.empty() || after.empty()) return before + after;
  return before + "; " + after;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : backend_(other.backend_),
      base_(std::exchange(other.base_, 0)),
      address_(other.address_),
      total_(other.total_),
      guarded_(other.guarded_),
      type_(std::move(other.type_)) {}

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(base_, other.base_);
  std::swap(address_, other.address_);
  std::swap(total_, other.total_);
  std::swap(guarded_, other.guarded_);
  std::swap(type_, other.type_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (!base_) return;
  if (guarded_) backend_->permit(base_, total_);
  backend_->free(base_);
}

}  // namespace stitch::runner
