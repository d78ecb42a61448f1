// stitch-confine POLICY -- PROGRAM ARGUMENTS: puts up the walls, then becomes the program.
// stitch-confine --join GROUP -- PROGRAM ARGUMENTS: enters a control group, then becomes the program.
// stitch-confine --try WALL: exit code 0 if that wall can be put up here.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "sandbox/confinement.h"
#include "sandbox/control_group.h"
#include "sandbox/landlock.h"
#include "sandbox/namespaces.h"
#include "sandbox/seccomp.h"

namespace stitch::sandbox {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool has_address_sanitizer = true;
#else
constexpr bool has_address_sanitizer = false;
#endif

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "stitch-confine: %s\n", message.c_str());
  std::exit(126);
}

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

int try_wall(std::string_view wall) {
  Policy policy;
  if (wall == "landlock") {
    // It must stand: what isn't named can't be read any more.
    return restrict_files(policy).empty() && ::open("/", O_RDONLY | O_DIRECTORY) < 0 ? 0 : 1;
  }
  if (wall == "seccomp")
    return install_filter(Filter::no_processes, Sockets::none) && ::socket(AF_UNIX, SOCK_STREAM, 0) < 0 &&
                   errno == EPERM
               ? 0
               : 1;
  if (wall == "network namespace") return enter_namespaces(true) ? 0 : 1;
  if (wall == "limits") return 0;
  return 1;
}

int confine_and_become(const Confinement& confinement, char** words) {
  const Policy& policy = confinement.policy;
  ::syscall(SYS_close_range, 3u + static_cast<unsigned>(policy.kept_descriptors), ~0u, 0u);
  if (policy.errors_to_output) ::dup2(1, 2);
  if (policy.background) ::setpriority(PRIO_PROCESS, 0, 10);
  set_limits(confinement);
  if (confinement.has(Wall::network_namespace) && !confinement.has(Wall::bubblewrap)) {
    // Compilers' own children end with the world they are in. Its processes don't find themselves in /proc,
    // which the GPU's driver needs; bubblewrap mounts a /proc of its own.
    const bool world = policy.may_start_processes && !policy.gpu;
    if (!enter_namespaces(world)) fail(format("no namespace: {}", std::strerror(errno)));
    if (policy.own_network && !bring_up_loopback()) fail(format("no loopback: {}", std::strerror(errno)));
    if (world) split_off_world();
  }
  const bool ends_together =
      confinement.has(Wall::bubblewrap) || (confinement.has(Wall::network_namespace) && !policy.gpu);
  if (policy.may_start_processes && !ends_together) leave_keepers_behind();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs");
  drop_capabilities();
  if (confinement.has(Wall::landlock))
    if (std::string trouble = restrict_files(policy); !trouble.empty()) fail("Landlock: " + trouble);
  std::vector<std::string> variables;
  for (const auto& [key, value] : confinement.environment) variables.push_back(key + "=" + value);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  if (!policy.writable.empty() && ::chdir(policy.writable[0].c_str()) != 0) fail("no scratch folder");
  const Sockets sockets = policy.own_network ? Sockets::all : policy.gpu ? Sockets::local : Sockets::none;
  if (confinement.has(Wall::seccomp) &&
      !install_filter(policy.may_start_processes ? Filter::dangerous : Filter::no_processes, sockets))
    fail("no filter for system calls");
  ::execve(words[0], words, environment.data());
  fail(format("{}: {}", words[0], std::strerror(errno)));
}

int start(int count, char** words) {
  if (count == 3 && std::string_view(words[1]) == "--try") return try_wall(words[2]);
  if (count > 4 && std::string_view(words[1]) == "--join" && std::string_view(words[3]) == "--") {
    if (!join_group(words[2])) fail(format("control group {}: {}", words[2], std::strerror(errno)));
    ::execv(words[4], words + 4);
    fail(format("{}: {}", words[4], std::strerror(errno)));
  }
  if (count < 4 || std::string_view(words[2]) != "--") fail("wants a policy, -- and a command");
  auto confinement = parse_confinement(words[1]);
  if (!confinement) fail(confinement.error().text());
  return confine_and_become(*confinement, words + 3);
}

}  // namespace
}  // namespace stitch::sandbox

int main(int count, char** words) { return stitch::sandbox::start(count, words); }
