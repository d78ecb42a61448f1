// stitch-confine POLICY -- PROGRAM ARGUMENTS: confines itself, then executes the program.
// stitch-confine --join GROUP -- PROGRAM ARGUMENTS: enters a cgroup, then executes the program.
// stitch-confine --try WALL: exit code 0 if that wall works here.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/confinement.h"
#include "sandbox/control_group.h"
#include "sandbox/namespaces.h"
#include "sandbox/put_up_walls.h"

namespace stitch::sandbox {
namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "stitch-confine: %s\n", message.c_str());
  std::exit(126);
}

int try_wall(std::string_view wall) {
  Policy policy;
  if (wall == "landlock") {
    // The wall works only if files that it doesn't name can no longer be read.
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
  if (std::string trouble = put_up_walls(confinement); !trouble.empty()) fail(trouble);
  std::vector<std::string> variables;
  for (const auto& [key, value] : confinement.environment) variables.push_back(key + "=" + value);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
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
