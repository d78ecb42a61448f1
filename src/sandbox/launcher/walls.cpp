// libstitch-walls.so: lets a fork of a process that has imported PyTorch confine itself like stitch-confine
// (python/stitchcuda_torch/lend/candidates.py).
// NOLINTBEGIN(bugprone-suspicious-include): one translation unit, for a library of one function.
#include "base/file.cpp"
#include "base/json.cpp"
#include "base/machine/descriptor.cpp"
#include "base/machine/interrupt.cpp"
#include "base/machine/parallel.cpp"
#include "base/machine/process.cpp"
#include "base/result.cpp"
#include "base/terminal/log.cpp"
#include "base/text.cpp"
#include "sandbox/confinement.cpp"
#include "sandbox/control_group.cpp"
#include "sandbox/landlock.cpp"
#include "sandbox/namespaces.cpp"
#include "sandbox/put_up_walls.cpp"
#include "sandbox/seccomp.cpp"
// NOLINTEND(bugprone-suspicious-include)

// `confinement`: stitch-confine's JSON. `group`: a cgroup, or empty. `parent`: this process dies with it.
// Returns an empty string on success, otherwise the reason; the caller must then exit.
extern "C" [[gnu::visibility("default")]] const char* stitch_put_up_walls(const char* confinement,
                                                                          const char* group, int parent) {
  using namespace stitch::sandbox;
  static std::string trouble;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) return "its parent has ended";
  if (*group && !join_group(group)) return "its control group";
  auto parsed = parse_confinement(confinement);
  if (!parsed) return "its policy";
  if (parsed->has(Wall::bubblewrap)) return "bubblewrap holds no fork";
  trouble = put_up_walls(*parsed);
  // As after execve: the GPU driver names its threads through /proc/self.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return trouble.c_str();
}
