#include "sandbox/namespaces.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/format.h"

namespace stitch::sandbox {

namespace {

bool write_to(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  return done;
}

// Waits for `child` while burying whoever else dies here, then ends as it did.
[[noreturn]] void end_like(pid_t child) {
  int status = 0;
  for (;;) {
    const pid_t gone = ::wait(&status);
    if (gone == child) break;
    if (gone < 0 && errno != EINTR) ::_exit(126);
  }
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(WTERMSIG(status), SIG_DFL);
  ::kill(::getpid(), WTERMSIG(status));
  ::_exit(128 + WTERMSIG(status));  // the first process of a world can't kill itself
}

}  // namespace

bool enter_namespaces(bool processes) {
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  const int wanted = CLONE_NEWNET | CLONE_NEWIPC | (processes ? CLONE_NEWPID : 0);
  if (::unshare(CLONE_NEWUSER | wanted) == 0) {
    // The same names inside as outside.
    write_to("/proc/self/setgroups", "deny");
    return write_to("/proc/self/uid_map", format("{} {} 1", user, user)) &&
           write_to("/proc/self/gid_map", format("{} {} 1", group, group));
  }
  return ::unshare(wanted) == 0;  // root may, where user namespaces are off
}

bool bring_up_loopback() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool up = ::ioctl(socket, SIOCSIFFLAGS, &request) == 0;
  ::close(socket);
  return up;
}

void drop_capabilities() {
  for (int capability = 0; capability < 64; ++capability) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  ::syscall(SYS_capset, &header, none);
}

void split_off_world() {
  const pid_t first = ::fork();
  if (first < 0) ::_exit(126);
  if (first > 0) end_like(first);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The first process of a world ignores signals without a handler and has to bury orphans: not the program's
  // job.
  const pid_t program = ::fork();
  if (program < 0) ::_exit(126);
  if (program > 0) end_like(program);
}

}  // namespace stitch::sandbox
