#include "runner/borrow.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "runner/start.h"

namespace stitch::runner {

namespace {

constexpr const char* variable = "STITCHCUDA_CANDIDATE_LENDER";
constexpr std::chrono::milliseconds for_a_fork{20'000};

Result<fs::path> find_walls() {
  std::vector<fs::path> places = {executable_folder() / "libstitch-walls.so",
                                  executable_folder().parent_path() / "lib/libstitch-walls.so"};
#ifdef STITCH_WALLS
  places.emplace_back(STITCH_WALLS);
#endif
  std::error_code ignored;
  for (const fs::path& place : places)
    if (fs::exists(place, ignored)) return place;
  return work_error("runner", format("libstitch-walls.so is not at {}", places.front().string()),
                    "build or install StitchCUDA again, whole");
}

Descriptor connect_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) return {};
  std::strcpy(address.sun_path, path);
  Descriptor out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (out.get() < 0 || ::connect(out.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return {};
  return out;
}

bool send_with(int socket, std::string_view bytes, std::span<const int> descriptors) {
  alignas(cmsghdr) char room[CMSG_SPACE(8 * sizeof(int))] = {};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool is_readable(int socket, std::chrono::milliseconds patience) {
  pollfd ready{socket, POLLIN, 0};
  return ::poll(&ready, 1, static_cast<int>(patience.count())) > 0;
}

// One number from the server; empty: it closed the connection.
std::optional<int> number_from(int socket) {
  int32_t number = 0;
  return ::recv(socket, &number, sizeof number, MSG_WAITALL) == sizeof number ? std::optional<int>(number)
                                                                              : std::nullopt;
}

}  // namespace

std::optional<int> Borrowed::status(std::chrono::milliseconds patience) const {
  if (!is_readable(connection.get(), patience)) return std::nullopt;
  return number_from(connection.get()).value_or(SIGKILL);
}

void Borrowed::wait_until_gone() const {
  constexpr int tries = 4;  // tolerates status messages that no caller read
  constexpr std::chrono::milliseconds at_most{2000};
  for (int i = 0; i < tries && is_readable(connection.get(), at_most); ++i)
    if (!number_from(connection.get())) return;
}

std::optional<Borrowed> borrow(const fs::path& python, const sandbox::ForkConfinement& confinement,
                               std::span<const int> descriptors) {
  const char* path = std::getenv(variable);
  if (!path || !*path) return std::nullopt;
  Borrowed out{connect_to(path)};
  const int socket = out.connection.get();
  if (socket < 0) return std::nullopt;
  const std::string request = Json{{"python", fs::absolute(python).string()},
                                   {"confinement", confinement.text},
                                   {"group", confinement.group.string()}}
                                  .dump();
  const auto length = static_cast<uint32_t>(request.size());
  const std::string_view head(reinterpret_cast<const char*>(&length), sizeof length);
  if (!send_with(socket, head, descriptors) || !send_all(socket, request)) return std::nullopt;
  if (!is_readable(socket, for_a_fork)) return std::nullopt;
  const std::optional<int> pid = number_from(socket);
  if (!pid || *pid <= 1) return std::nullopt;
  out.pid = *pid;
  return out;
}

Result<CandidateLender> CandidateLender::start(const fs::path& python) {
  CandidateLender out;
  if (const char* there = std::getenv(variable); there && *there) return out;
  if (!sandbox::can_confine_forks()) return out;
  STITCH_TRY(fs::path walls, find_walls());
  STITCH_TRY(ScratchFolder folder, ScratchFolder::create("stitchcuda-candidates"));
  const std::string socket = (folder.path() / "socket").string();
  Command command = python_candidate_command(python);
  command.words = {fs::absolute(python).string(), "-m", "stitchcuda_torch.lend.candidates", socket,
                   walls.string()};
  STITCH_TRY(Child child, Child::start(sandbox::with_clean_environment(std::move(command))));
  for (;;) {
    auto line = child.read_line();
    if (!line) {
      const Finished finished = child.wait();
      return work_error("torch", format("PyTorch can't be lent to candidates: {}",
                                        split(trim(finished.error_tail), '\n').back()));
    }
    if (trim(*line) == "ready") break;
  }
  ::setenv(variable, socket.c_str(), 1);
  out.folder_.emplace(std::move(folder));
  out.child_.emplace(std::move(child));
  return out;
}

}  // namespace stitch::runner
