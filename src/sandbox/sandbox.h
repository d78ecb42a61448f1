// Runs untrusted code: resource limits always, and every wall that the kernel and the machine offer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/machine/process.h"

namespace stitch::sandbox {

// What a process may do; everything else is refused.
struct Policy {
  std::vector<fs::path> readable;    // besides the system's folders
  std::vector<fs::path> writable;    // scratch; the first is HOME and TMPDIR
  bool may_start_processes = false;  // for compilers
  bool gpu = false;                  // the driver's device files
  bool own_network = false;  // sockets in an empty network namespace, for tools that talk to their own
                             // processes; refused where there is no such namespace
  int64_t memory_limit = 0;  // bytes of data per process; 0: no limit. Not for GPU drivers and
                             // AddressSanitizer, which reserve terabytes
  int64_t file_limit = int64_t{4} << 30;  // the largest file it may write
  int process_limit = 0;                  // 0: the system's
  // Of all its processes together, where there is a cgroup; 0: no limit.
  int64_t group_memory = 0;
  int group_threads = 0;
  bool errors_to_output = false;  // stderr is redirected to stdout, to keep the order
  bool background = false;        // low scheduling priority
  int kept_descriptors = 0;       // descriptors kept open above 2; all others are closed
};

enum class Wall : uint8_t { bubblewrap, landlock, seccomp, network_namespace, control_group, limits };
std::string_view name(Wall wall);

// The walls that work on this machine, strongest first; each is tried once. $STITCHCUDA_WALLS
// (comma-separated names) restricts them, for tests and for machines where one causes trouble.
const std::vector<Wall>& walls();
// Whether a wall hides files; without one, a confined process reads what its user can.
bool keeps_files_apart();
bool has(Wall wall);
// One line for `doctor`.
std::string describe_walls();
// Resources without a limit on this machine, for `doctor`; empty: none.
std::vector<std::string> unbounded();

// Whether a tool that starts a process and talks to it (compute-sanitizer, ncu) can be confined with it.
// Needs hidden files and a network namespace.
bool can_confine_tools();
std::string why_tools_are_not_confined();

// The command inside the walls, with a cleared environment; its processes end with it. Under bubblewrap a
// command killed by a signal exits with code 128 + signal.
Result<Command> confine(Command command, const Policy& policy);

// For a fork of a running process, which confines itself (put_up_walls.h). Not with bubblewrap, which
// confines only what is started inside it.
struct ForkConfinement {
  std::string text;
  fs::path group;  // empty: none
};
bool can_confine_forks();
Result<ForkConfinement> confine_fork(const Command& command, const Policy& policy);
// For a process that will fork: its forks see its environment.
Command with_clean_environment(Command command);

// The cgroup that a confined command will be in; empty: none.
fs::path group_of(const Command& command);

// From now on this process may not fork, exec or open a socket; trying kills it (SIGSYS). True if the kernel
// accepted the filter.
bool seal_process();

}  // namespace stitch::sandbox
