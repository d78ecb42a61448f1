// What was executed, kept while somebody wants to know: see stitch_emulated_log_start.
#pragma once

#include <string>

#include "operation.h"

namespace stitch_emulated {

bool is_logging();
void log_kernel(const Kernel& kernel, const LaunchConfig& config, unsigned static_shared_bytes);
void log_library(const std::string& name);
void log_copy(const CopyOperation& copy);
void log_fill(const FillOperation& fill);

// While one lives, what this thread runs comes from a graph.
class InGraph {
 public:
  InGraph() { ++depth; }
  InGraph(const InGraph&) = delete;
  ~InGraph() { --depth; }
  static thread_local int depth;
};

}  // namespace stitch_emulated
