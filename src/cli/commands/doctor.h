// stitchcuda doctor: what this machine has, what is missing, what that costs and how to mend it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/console.h"

namespace stitch {

struct Check {
  enum class State {
    there,
    missing,  // everything works without it, less well
    needed,   // the main job doesn't work without it
  };
  std::string group, name;
  State state = State::there;
  std::string found;  // version and path, if it is there
  std::string cost;   // what its absence costs
  std::string fix;
};

// Everything there is to know, gathered from the machine.
std::vector<Check> examine_machine();

std::string doctor_text(const std::vector<Check>& checks, const Terminal& terminal);
Json doctor_json(const std::vector<Check>& checks);
// 0, or 1 if something that is needed is missing.
int doctor_exit_code(const std::vector<Check>& checks);

Result<int> run_doctor(Console& console);

}  // namespace stitch
