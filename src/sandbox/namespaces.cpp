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

namespace {

// Those of this process, orphans among them.
std::string children_of_this_process() {
  const int file = ::open(format("/proc/self/task/{}/children", ::getpid()).c_str(), O_RDONLY | O_CLOEXEC);
  std::string out(1 << 16, '\0');
  const ssize_t count = file < 0 ? 0 : ::read(file, out.data(), out.size());
  if (file >= 0) ::close(file);
  out.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return out;
}

// Whoever is killed hands its own children on to this process: again until there are none.
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

[[noreturn]] void keep(pid_t child) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGTERM}) ::sigaddset(&signals, signal);
  int status = SIGKILL;  // as if it had been killed
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

// Ours are the output's and the input's alone: whoever waits for the program sees when it closes the others.
void close_what_is_the_programs() { ::syscall(SYS_close_range, 3u, ~0u, 0u); }

}  // namespace

void leave_keepers_behind() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  sigset_t signals, before;
  ::sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGTERM}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t first = ::getpid(), second = ::fork();
  if (second < 0) ::_exit(126);
  if (second > 0) {
    close_what_is_the_programs();
    keep(second);
  }
  // Out of the group that is killed as a whole, and told when that happens.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (::getppid() != first) ::_exit(126);
  const pid_t keeper = ::getpid(), program = ::fork();
  if (program < 0) ::_exit(126);
  if (program > 0) {
    close_what_is_the_programs();
    keep(program);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(126);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
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
