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
  std::vector<fs::path> readable;         // besides the system's own folders
  std::vector<fs::path> writable;         // scratch
  bool may_start_processes = false;       // compilers do
  bool gpu = false;                       // the driver's device files
  int64_t memory_limit = 0;               // bytes of address space or of a cgroup; 0: none
  int64_t file_limit = int64_t{4} << 30;  // the largest file it may write
  int process_limit = 0;                  // 0: as the system has it
  bool errors_to_output = false;          // stderr joins stdout, so that all of it can be read in order
};

enum class Wall : uint8_t { bubblewrap, landlock, seccomp, network_namespace, limits };
std::string_view name(Wall wall);

// The walls that stand on this machine, strongest first, found by trying each once.
const std::vector<Wall>& walls();
// Whether one of them keeps files apart: without, a confined process can read what its user can.
bool keeps_files_apart();
// One line for `doctor`: which they are, and what that means.
std::string describe_walls();

// The command, behind the walls: its environment cleared but for what is needed, its processes gone with it.
Result<Command> confine(Command command, const Policy& policy);

}  // namespace stitch::sandbox
