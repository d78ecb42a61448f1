// Where an interpreter finds its packages, so that a candidate's process finds the same.
#pragma once

#include <vector>

#include "base/file.h"

namespace stitch::runner {

struct PythonRoots {
  // Folders of installed packages, including those of .pth files and the user's site, and the one with torch.
  // Not the rest of sys.path, which may contain the task.
  std::vector<fs::path> packages;
  fs::path user_base;  // of the user's site, found through HOME; empty: not used
};

// Runs each interpreter once. Empty if it can't be run.
const PythonRoots& python_roots(const fs::path& python);

}  // namespace stitch::runner
