// libstitch-walls.so: a process that has imported PyTorch forks, and the fork puts the walls up around itself
// (python/stitchcuda_torch/lend_candidates.py). What runs afterwards is behind the same walls as a program
// that stitch-confine became. NOLINTBEGIN(bugprone-suspicious-include): one translation unit, for a library
// of one function.
#include "base/descriptor.cpp"
#include "base/file.cpp"
#include "base/interrupt.cpp"
#include "base/json.cpp"
#include "base/log.cpp"
#include "base/parallel.cpp"
#include "base/process.cpp"
#include "base/result.cpp"
#include "base/text.cpp"
#include "sandbox/confinement.cpp"
#include "sandbox/control_group.cpp"
#include "sandbox/landlock.cpp"
#include "sandbox/namespaces.cpp"
#include "sandbox/put_up_walls.cpp"
#include "sandbox/seccomp.cpp"
#include "sandbox/system_paths.cpp"
// NOLINTEND(bugprone-suspicious-include)

// `confinement`: as stitch-confine is told it. `group`: a control group, or empty. `parent`: who started this
// process, which dies with it. Empty if all is done, otherwise why not: then this process has to end.
extern "C" [[gnu::visibility("default")]] const char* stitch_put_up_walls(const char* confinement,
                                                                          const char* group, int parent) {
  using namespace stitch::sandbox;
  static std::string trouble;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) return "nobody waits for it";
  if (*group && !join_group(group)) return "its control group";
  auto parsed = parse_confinement(confinement);
  if (!parsed) return "its policy";
  if (parsed->has(Wall::bubblewrap)) return "bubblewrap holds no fork";
  trouble = put_up_walls(*parsed);
  // As after execve: the driver of a GPU names its threads through /proc/self.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return trouble.c_str();
}
