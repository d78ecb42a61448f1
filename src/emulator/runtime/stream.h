// Streams, events and captures.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "operation.h"

struct CUgraphNode_st {
  stitch_emulated::Operation operation;
  std::vector<CUgraphNode_st*> dependencies;
  CUgraph_st* graph = nullptr;
};
// Nodes in the order they were added; dependencies may only be added among them.
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  CUgraphNode_st* add(stitch_emulated::Operation operation, std::vector<CUgraphNode_st*> dependencies);
};

namespace stitch_emulated {

struct Capture {
  std::unique_ptr<CUgraph_st> graph = std::make_unique<CUgraph_st>();
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode{};
  std::thread::id thread;
  bool invalid = false;
  bool ended = false;
  unsigned long long id = 0;
  std::vector<cudaStream_t> streams;  // that have joined
};

// Streams and events that are alive.
size_t count_handles();

}  // namespace stitch_emulated

struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<stitch_emulated::Capture> capture;
  std::vector<CUgraphNode_st*> last;  // dependencies of the next captured operation
};

struct CUevent_st {
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<stitch_emulated::Capture> capture;  // in which it was last recorded
  std::vector<CUgraphNode_st*> last;
};

namespace stitch_emulated {

// The object of a handle; the default streams have one each. Null for an invalid handle.
CUstream_st* stream_of(cudaStream_t handle);
// Appends dependencies in order, without repeats.
void add_dependencies(std::vector<CUgraphNode_st*>& to, const std::vector<CUgraphNode_st*>& from);
cudaError_t run_graph(CUgraph_st& graph);

}  // namespace stitch_emulated
