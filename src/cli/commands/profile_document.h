// What `profile` found, as the one document that the table, the page and --json are made from.
#pragma once

#include <optional>
#include <string>

#include "base/terminal/terminal.h"
#include "plan/cost/pytorch.h"
#include "profile/regions.h"

namespace stitch {

struct ProfileRun {
  std::string model, program;  // as the user wrote them; may be empty
  std::string device;          // cuda, emulated
  GpuSpec gpu;
  std::string baseline;  // of PyTorch
  std::optional<profile::Timeline> pytorch;
  plan::PyTorchEstimate pytorch_estimate;       // where it was not measured
  double program_seconds = 0;                   // a call, estimated; 0: measured, or not known
  std::optional<profile::Collected> collected;  // of the program
  const Graph* graph = nullptr;
  std::vector<std::string> notes;
};

Json profile_json(const ProfileRun& run);

// For people: both sides, their kernels or regions, what limits them.
std::string profile_text(const Json& document, const Terminal& terminal);

}  // namespace stitch
