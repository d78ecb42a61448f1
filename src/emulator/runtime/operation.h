// A stream operation: executed at once, or stored as a graph node.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "stitch/host_types.h"

namespace stitch_emulated {

// A launch's arguments by value, and pointers to them.
class Arguments {
 public:
  Arguments() = default;
  Arguments(const Kernel& kernel, void* const* values);
  Arguments(const Arguments& other);
  Arguments& operator=(const Arguments& other);
  void** pointers() { return pointers_.data(); }

 private:
  struct alignas(64) Chunk {
    std::byte bytes[64];
  };
  void point();
  std::vector<Chunk> chunks_;
  std::vector<size_t> offsets_;  // in chunks
  std::vector<void*> pointers_;
};

struct KernelOperation {
  Kernel kernel;
  LaunchConfig config;
  Arguments arguments;
};
struct CopyOperation {
  void* to;
  size_t to_pitch;
  const void* from;
  size_t from_pitch;
  size_t width, height;
  cudaMemcpyKind kind;
};
struct FillOperation {
  void* to;
  size_t pitch;
  unsigned value, element_bytes;
  size_t width, height;  // in elements, in rows
};
struct HostOperation {
  cudaHostFn_t function;
  void* data;
};
struct EventOperation {
  cudaEvent_t event;
};
struct ChildOperation {
  std::shared_ptr<CUgraph_st> graph;
};
struct EmptyOperation {};
// Memory that a library call touches.
struct Operand {
  const char* name;
  const void* start;
  size_t bytes;
};
struct LibraryOperation {
  std::string name;  // with its size, as in the launch log
  std::vector<Operand> operands;
  std::function<void()> work;
};

using Operation = std::variant<EmptyOperation, KernelOperation, CopyOperation, FillOperation, HostOperation,
                               EventOperation, ChildOperation, LibraryOperation>;

cudaError_t run(Operation& operation);
cudaError_t run_copy(const CopyOperation& copy);
cudaError_t run_fill(const FillOperation& fill);
cudaError_t run_library(const LibraryOperation& call);
// Executes it, or adds it to the graph being captured.
cudaError_t enqueue(cudaStream_t stream, Operation operation);
bool is_capturing(cudaStream_t stream);
bool is_stream(cudaStream_t stream);
// An error if a capture forbids a call that synchronises or uses the device outside any stream.
cudaError_t check_not_captured(cudaStream_t stream);
// The legacy stream synchronises with blocking streams, so using it invalidates their captures.
cudaError_t check_legacy_stream(cudaStream_t stream);

// The driver's checks, and the launch itself.
cudaError_t check_launch(const Kernel& kernel, const LaunchConfig& config);
cudaError_t run_launch(const Kernel& kernel, const LaunchConfig& config, void* const* arguments);
const Kernel* find_kernel(const void* function);
void stamp(cudaEvent_t event);
// Resets what cudaFuncSetAttribute allowed.
void forget_opt_ins();

}  // namespace stitch_emulated
