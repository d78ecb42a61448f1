// Nsight Compute: counters of kernels that a process runs, through `ncu --csv --page raw`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/machine/process.h"
#include "profile/metrics.h"

namespace stitch::profile {

struct NcuOptions {
  // Names of kernels as short_name() has them; none: all.
  std::vector<std::string> kernels;
  int launches = 0;                // at most; 0: all
  bool marked = false;             // only between cuProfilerStart and cuProfilerStop
  fs::path log;                    // where its table goes
  fs::path folder;                 // that the command may write to
  std::vector<fs::path> readable;  // what it needs to read besides the system's
};
// What stands before the command that is measured. The GPU's clocks are left alone.
Result<std::vector<std::string>> ncu_words(const NcuOptions& options);

// A tool with the command it starts behind it, confined together. An Error where that can't be: nothing that
// is measured runs outside the walls.
Result<Command> confine_tool(std::vector<std::string> words, const NcuOptions& options,
                             const fs::path& scratch, std::chrono::milliseconds time_limit);

// Runs a command under it. An Error says why there are no counters: ncu is not installed, it may not read
// them (ERR_NVGPUCTRPERM), no kernel ran.
Result<std::vector<KernelMetrics>> run_ncu(const std::vector<std::string>& command, const NcuOptions& options,
                                           std::chrono::milliseconds time_limit);

// Its table: a header, units, a row a launch; other lines are ignored, "n/a" left out, units converted. One
// entry for each kernel's name, the mean of its launches.
Result<std::vector<KernelMetrics>> parse_ncu(std::string_view text);

// nsys, which writes a report beside ours where it is installed.
Result<std::vector<std::string>> nsys_words(const fs::path& report);

}  // namespace stitch::profile
