#include "sandbox/put_up_walls.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sandbox/namespaces.h"

namespace stitch::sandbox {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool has_address_sanitizer = true;
#else
constexpr bool has_address_sanitizer = false;
#endif

void limit(int resource, uint64_t most) {
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &now);
  const rlim_t value = std::min<rlim_t>(most, now.rlim_max);
  const rlimit wanted{value, value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &wanted);
}

void set_limits(const Confinement& confinement) {
  const Policy& policy = confinement.policy;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, 4096);
  limit(RLIMIT_MSGQUEUE, 0);
  if (policy.file_limit > 0) limit(RLIMIT_FSIZE, static_cast<uint64_t>(policy.file_limit));
  if (policy.memory_limit > 0 && !has_address_sanitizer)
    limit(RLIMIT_DATA, static_cast<uint64_t>(policy.memory_limit));
  if (policy.process_limit > 0) limit(RLIMIT_NPROC, static_cast<uint64_t>(policy.process_limit));
  if (confinement.processor_seconds > 0)
    limit(RLIMIT_CPU, static_cast<uint64_t>(confinement.processor_seconds));
}

}  // namespace

std::string put_up_walls(const Confinement& confinement) {
  const Policy& policy = confinement.policy;
  ::syscall(SYS_close_range, 3u + static_cast<unsigned>(policy.kept_descriptors), ~0u, 0u);
  if (policy.errors_to_output) ::dup2(1, 2);
  if (policy.background) ::setpriority(PRIO_PROCESS, 0, 10);
  set_limits(confinement);
  if (confinement.has(Wall::network_namespace) && !confinement.has(Wall::bubblewrap)) {
    // A PID namespace ends a compiler's children with it. Its processes don't see themselves in the outer
    // /proc, which the GPU driver needs; bubblewrap mounts its own /proc.
    const bool pid_namespace = policy.may_start_processes && !policy.gpu;
    if (!enter_namespaces(pid_namespace)) return format("no namespace: {}", std::strerror(errno));
    if (policy.own_network && !bring_up_loopback()) return format("no loopback: {}", std::strerror(errno));
    if (pid_namespace) enter_pid_namespace();
  }
  const bool ends_together =
      confinement.has(Wall::bubblewrap) || (confinement.has(Wall::network_namespace) && !policy.gpu);
  if (policy.may_start_processes && !ends_together) leave_supervisors_behind();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
  drop_capabilities();
  if (confinement.has(Wall::landlock))
    if (std::string trouble = restrict_files(policy); !trouble.empty()) return "Landlock: " + trouble;
  if (!policy.writable.empty() && ::chdir(policy.writable[0].c_str()) != 0) return "no scratch folder";
  const Sockets sockets = policy.own_network ? Sockets::all : policy.gpu ? Sockets::local : Sockets::none;
  if (confinement.has(Wall::seccomp) &&
      !install_filter(policy.may_start_processes ? Filter::dangerous : Filter::no_processes, sockets))
    return "no filter for system calls";
  return "";
}

}  // namespace stitch::sandbox
