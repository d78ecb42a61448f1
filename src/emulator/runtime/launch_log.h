// The launch log: see stitch_emulated_log_start.
#pragma once

#include <string>

#include "launch_state.h"
#include "operation.h"

namespace stitch_emulated {

bool is_logging();
void log_kernel(const LaunchState& launch);
void log_library(const std::string& name);
void log_copy(const CopyOperation& copy);
void log_fill(const FillOperation& fill);

// During its lifetime, operations of this thread belong to a graph.
class InGraph {
 public:
  InGraph() { ++depth; }
  InGraph(const InGraph&) = delete;
  ~InGraph() { --depth; }
  static thread_local int depth;
};

}  // namespace stitch_emulated
