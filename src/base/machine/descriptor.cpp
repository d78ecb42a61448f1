#include "base/machine/descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stitch {

namespace {

// Room for one descriptor beside a message.
union Control {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(sizeof(int))];
};

msghdr message_of(iovec& bytes, Control& control) {
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  return message;
}

}  // namespace

bool Pipe::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read = Descriptor(ends[0]);
  write = Descriptor(ends[1]);
  return true;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

ssize_t send_with_descriptor(int socket, std::string_view bytes, int descriptor) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  Control control{};
  msghdr message = message_of(part, control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t receive_with_descriptor(int socket, std::span<char> buffer, Descriptor& descriptor) {
  iovec part{buffer.data(), buffer.size()};
  Control control{};
  msghdr message = message_of(part, control);
  const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    descriptor = Descriptor(number);
  }
  return count;
}

Result<Letterbox> Letterbox::create(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path.string();
  if (name.size() >= sizeof address.sun_path)
    return work_error("socket", format("{} is too long a path for a socket", name));
  std::memcpy(address.sun_path, name.data(), name.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0 || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return work_error("socket", format("cannot create the socket {}: {}", name, std::strerror(errno)));
  return Letterbox(std::move(socket));
}

Result<Descriptor> Letterbox::take() {
  char byte = 0;
  Descriptor out;
  if (receive_with_descriptor(socket_.get(), {&byte, 1}, out) < 0)
    return work_error("socket", format("no file descriptor received: {}", std::strerror(errno)));
  if (out.get() < 0) return work_error("socket", "received a message without a file descriptor");
  return out;
}

}  // namespace stitch
