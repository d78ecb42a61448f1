// The child's mapping of the arena; remapped when it has grown.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <stdexcept>

#include "runner/wire.h"

namespace stitch::runner {

class ArenaView {
 public:
  std::span<std::byte> bytes(int64_t offset, int64_t count) {
    if (offset < 0 || count < 0) throw std::out_of_range("a place before the arena");
    if (offset + count > size_) map();
    if (offset + count > size_) throw std::out_of_range("a place past the arena's end");
    return {data_ + offset, static_cast<size_t>(count)};
  }
  bool replace(int descriptor) {
    if (data_) ::munmap(data_, static_cast<size_t>(size_));
    data_ = nullptr;
    size_ = 0;
    return ::dup3(descriptor, arena_descriptor, O_CLOEXEC) == arena_descriptor;
  }

 private:
  void map() {
    struct stat info {};
    if (::fstat(arena_descriptor, &info) != 0) throw std::runtime_error("the arena is gone");
    if (data_) ::munmap(data_, static_cast<size_t>(size_));
    size_ = info.st_size;
    void* data =
        ::mmap(nullptr, static_cast<size_t>(size_), PROT_READ | PROT_WRITE, MAP_SHARED, arena_descriptor, 0);
    if (data == MAP_FAILED) throw std::runtime_error("the arena can't be mapped");
    data_ = static_cast<std::byte*>(data);
  }
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace stitch::runner
