#include "sandbox/sandbox.h"

namespace stitch::sandbox {

std::string_view name(Wall wall) {
  switch (wall) {
    case Wall::bubblewrap: return "bubblewrap";
    case Wall::landlock: return "landlock";
    case Wall::seccomp: return "seccomp";
    case Wall::network_namespace: return "network namespace";
    case Wall::limits: return "limits";
  }
  return "?";
}

const std::vector<Wall>& walls() {
  static const std::vector<Wall> none;
  return none;
}

bool keeps_files_apart() { return false; }

std::string describe_walls() { return "none"; }

Result<Command> confine(Command command, const Policy&) { return command; }

}  // namespace stitch::sandbox
