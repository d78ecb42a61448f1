// Running what nobody trusts: limits always, and walls where the kernel and the machine offer them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/process.h"

namespace stitch::sandbox {

// What a process may still do. Everything not named is refused.
struct Policy {
  std::vector<fs::path> readable;    // besides the system's own folders
  std::vector<fs::path> writable;    // scratch; the first is its home and its temporary folder
  bool may_start_processes = false;  // compilers do
  bool gpu = false;                  // the driver's device files
  bool own_network = false;          // sockets, in a network with nobody else in it: tools talk to their
                                     // own processes. Refused where there is no wall for that
  int64_t memory_limit = 0;          // bytes a process may allocate; 0: none. Drivers of GPUs and
                                     // AddressSanitizer reserve terabytes: no limit of this kind for them
  int64_t file_limit = int64_t{4} << 30;  // the largest file it may write
  int process_limit = 0;                  // 0: as the system has it
  // Of all its processes together, where a control group caps them; 0: none.
  int64_t group_memory = 0;
  int group_threads = 0;
  bool errors_to_output = false;  // stderr joins stdout, so that all of it can be read in order
  bool background = false;        // others on this machine come first
  int kept_descriptors = 0;       // above 2: 3, 4 and so on stay open; all others are closed
};

enum class Wall : uint8_t { bubblewrap, landlock, seccomp, network_namespace, control_group, limits };
std::string_view name(Wall wall);

// The walls that stand on this machine, strongest first, found by trying each once. $STITCHCUDA_WALLS (names
// with commas between) leaves out those it doesn't name: for tests, and where one of them is in the way.
const std::vector<Wall>& walls();
// Whether one of them keeps files apart: without, a confined process can read what its user can.
bool keeps_files_apart();
bool has(Wall wall);
// One line for `doctor`: which they are, and what that means.
std::string describe_walls();
// What a candidate could still use without end on this machine, in words; empty: nothing.
std::vector<std::string> unbounded();

// Whether a tool that starts a process and talks to it (compute-sanitizer, ncu) can be confined with it:
// files kept apart, and a network of its own.
bool can_confine_tools();
// Words for a report: why not.
std::string why_tools_are_not_confined();

// The command, behind the walls: its environment cleared but for what is needed, its processes gone with it.
// Under bubblewrap a command that a signal killed ends with exit code 128 + signal.
Result<Command> confine(Command command, const Policy& policy);

// What a fork of a process that runs already is told, to put up the same walls around itself
// (put_up_walls.h). Bubblewrap holds only what is started behind it: where it stands, nobody forks.
struct ForkConfinement {
  std::string text;
  fs::path group;  // empty: none
};
bool can_confine_forks();
Result<ForkConfinement> confine_fork(const Command& command, const Policy& policy);
// For a process that will fork: its environment is all that its forks may see of this one's.
Command with_clean_environment(Command command);

// The folder of the control group that a confined command will be in; empty: none.
fs::path group_of(const Command& command);

// From within: this process may start no other, become no other, and open no socket from now on. Whoever
// tries is killed (SIGSYS). True if the kernel agreed.
bool seal_process();

}  // namespace stitch::sandbox
