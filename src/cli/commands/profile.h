// stitchcuda profile: what one call of PyTorch and of a program does on the device, and what limits it.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct ProfileCommand {
  std::string target;   // a program folder, a .cu file, or a model's .py file
  std::string task;     // of a program: its model
  std::string program;  // of a model: its program
  std::string device = "auto";
  std::string gpu;
  std::string baseline = "eager";  // of PyTorch; none: only the program
  std::string numerics = "default";
  std::string html, trace, nsys;
  bool counters = false;
  std::string counters_by = "any";
  bool force = false;
  std::string model_class;
  Mode mode = Mode::as_written;
  std::string python;
};

Result<int> run_profile(const ProfileCommand& command, Console& console);

}  // namespace stitch
