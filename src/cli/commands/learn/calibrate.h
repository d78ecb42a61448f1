// stitchcuda calibrate: measured runs in, what techniques take on that GPU out.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct CalibrateCommand {
  std::vector<std::string> runs;  // folders of bench, or files of their records
  std::string gpu;
  std::string out;
  bool force = false;
};

Result<int> run_calibrate(const CalibrateCommand& command, Console& console);

}  // namespace stitch
