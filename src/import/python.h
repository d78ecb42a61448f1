// Which Python runs the exporter, and where its package is.
#pragma once

#include <string>

#include "base/file.h"
#include "base/machine/process.h"

namespace stitch {

// `wanted` if given, else $STITCHCUDA_PYTHON, the project's own .venv, python3 on the PATH.
Result<fs::path> find_python(const std::string& wanted = {});
// The folder that holds stitchcuda_torch.
Result<fs::path> find_python_package();
// `python -m module arguments…` with our package on its path.
Result<Command> python_command(const fs::path& python, const std::string& module,
                               std::vector<std::string> arguments = {});

}  // namespace stitch
