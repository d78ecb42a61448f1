// stitchcuda verify: checks and times a program. stitchcuda receipt check: repeats a verified result.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct VerifyCommand {
  std::string program;
  std::string task;
  std::string numerics = "default";
  std::string device = "auto";
  std::string baselines = "auto";  // auto: eager and eager-graph on a GPU; none; all; or a list
  bool fresh_baselines = false;
  std::string model_class;
  Mode mode = Mode::as_written;
  std::string python;
  std::string compatible;  // kernelbench
  std::string seed;        // hexadecimal; empty: secret
  std::string receipt;
  std::string out;     // the verdict as a JSON file
  bool force = false;  // overwrite existing output
  int time_limit = 60;
  int build_time_limit = 300;
  double memory_limit = 0;  // GB of the host's; 0: half of the machine's
  int reference_time_limit = 1800;
  std::string all;    // a folder of candidates, or a manifest: then there is no program
  std::string tasks;  // where their tasks are
  int jobs = 0;       // 0: as many as cores
  bool sanitizer = false;
  bool address_sanitizer = false;
  bool quick = false;
  bool timing = true;
};

struct ReceiptCommand {
  std::string action;  // check, key
  std::string receipt;
  std::string program, task;
  std::string key;
  std::string numerics = "default";
  std::string device = "auto";
  Mode mode = Mode::as_written;
  std::string python;
};

// 0 if the program passed, 1 if it did not, 4 if the machine's fault kept it from being judged.
Result<int> run_verify(const VerifyCommand& command, Console& console);
// 0 if every candidate was judged, 4 if some were not for the machine's fault, 1 if it was stopped before.
Result<int> run_verify_all(const VerifyCommand& command, Console& console);
Result<int> run_receipt(const ReceiptCommand& command, Console& console);

}  // namespace stitch
