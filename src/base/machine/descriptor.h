// Descriptors, and how one process hands them to another: SCM_RIGHTS over Unix sockets.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/result.h"

namespace stitch {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read, write;
  bool open();
};

// As ::write; the descriptor arrives with the first byte.
ssize_t send_with_descriptor(int socket, std::string_view bytes, int descriptor);
// As ::read; what came with the bytes goes to `descriptor`.
ssize_t receive_with_descriptor(int socket, std::span<char> buffer, Descriptor& descriptor);

// A path where another process leaves a descriptor in one datagram, for this one to take later: neither waits
// for the other.
class Letterbox {
 public:
  static Result<Letterbox> create(const fs::path& path);
  Result<Descriptor> take();

 private:
  explicit Letterbox(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

}  // namespace stitch
