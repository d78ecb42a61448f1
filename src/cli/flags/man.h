// stitchcuda man: the help as a manual page.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct ManCommand {
  std::string command;  // empty: the page of all
};

Result<int> run_man(const ManCommand& command, Console& console);

}  // namespace stitch
