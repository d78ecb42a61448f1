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

#include <algorithm>
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

// Reaps orphans until `child` exits, then exits with its status.
[[noreturn]] void exit_like(pid_t child) {
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
  ::_exit(128 + WTERMSIG(status));  // PID 1 of a namespace can't kill itself
}

}  // namespace

bool enter_namespaces(bool processes) {
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  const int wanted = CLONE_NEWNET | CLONE_NEWIPC | (processes ? CLONE_NEWPID : 0);
  if (::unshare(CLONE_NEWUSER | wanted) == 0) {
    // Map user and group to themselves.
    write_to("/proc/self/setgroups", "deny");
    return write_to("/proc/self/uid_map", format("{} {} 1", user, user)) &&
           write_to("/proc/self/gid_map", format("{} {} 1", group, group));
  }
  return ::unshare(wanted) == 0;  // root may, even where user namespaces are disabled
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

namespace {

// Including orphans that were reparented to this process.
std::string children_of_this_process() {
  const int file = ::open(format("/proc/self/task/{}/children", ::getpid()).c_str(), O_RDONLY | O_CLOEXEC);
  std::string out(1 << 16, '\0');
  const ssize_t count = file < 0 ? 0 : ::read(file, out.data(), out.size());
  if (file >= 0) ::close(file);
  out.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return out;
}

// The children of a killed process are reparented to this one: repeat until there are none.
void kill_descendants() {
  constexpr int tries = 5000;
  for (int i = 0; i < tries; ++i) {
    const std::string children = children_of_this_process();
    for (const char* at = children.c_str(); *at;) {
      char* end = nullptr;
      const long child = std::strtol(at, &end, 10);
      if (end == at) break;
      if (child > 1) ::kill(static_cast<pid_t>(child), SIGKILL);
      for (at = end; *at == ' ';) ++at;
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    ::usleep(1000);
  }
}

[[noreturn]] void supervise(pid_t child) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGTERM}) ::sigaddset(&signals, signal);
  int status = SIGKILL;  // until the child's own status is known
  for (bool over = false; !over;) {
    for (pid_t gone; (gone = ::waitpid(-1, &status, WNOHANG)) != 0;)
      if (gone == child || (gone < 0 && errno == ECHILD)) {
        over = true;
        break;
      }
    if (!over && ::sigwaitinfo(&signals, nullptr) == SIGTERM) {
      status = SIGKILL;
      over = true;
    }
  }
  const int ended = status;
  kill_descendants();
  if (WIFEXITED(ended)) ::_exit(WEXITSTATUS(ended));
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(WTERMSIG(ended), SIG_DFL);
  sigset_t all;
  ::sigemptyset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::kill(::getpid(), WTERMSIG(ended));
  ::_exit(128 + WTERMSIG(ended));
}

// Keep only stdio open, so that the reader of the program's pipes sees EOF when the program closes them.
void close_pipes() { ::syscall(SYS_close_range, 3u, ~0u, 0u); }

}  // namespace

void leave_supervisors_behind() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  sigset_t signals, before;
  ::sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGTERM}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t first = ::getpid(), second = ::fork();
  if (second < 0) ::_exit(126);
  if (second > 0) {
    close_pipes();
    supervise(second);
  }
  // Leave the process group, which is killed as a whole, and get a signal when that happens.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (::getppid() != first) ::_exit(126);
  const pid_t supervisor = ::getpid(), program = ::fork();
  if (program < 0) ::_exit(126);
  if (program > 0) {
    close_pipes();
    supervise(program);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(126);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

void enter_pid_namespace() {
  const pid_t first = ::fork();
  if (first < 0) ::_exit(126);
  if (first > 0) exit_like(first);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // PID 1 ignores signals without a handler and must reap orphans, so the program is not PID 1.
  const pid_t program = ::fork();
  if (program < 0) ::_exit(126);
  if (program > 0) exit_like(program);
}

}  // namespace stitch::sandbox
