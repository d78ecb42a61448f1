// Where an interpreter finds its packages: a candidate's process finds the same ones.
#pragma once

#include <vector>

#include "base/file.h"

namespace stitch::runner {

struct PythonRoots {
  // Folders of installed packages, wherever .pth files and the user's own site lead, and the one that holds
  // torch. Not the rest of sys.path: a candidate has no business in the user's folders.
  std::vector<fs::path> packages;
  fs::path user_base;  // of the user's own site, which is found by HOME; empty: not used
};

// Asked of each interpreter once. Nothing, where it can't be run.
const PythonRoots& python_roots(const fs::path& python);

}  // namespace stitch::runner
