// A kernel without its type: what a launch, a graph node and cudaLaunchKernel have in common.
#pragma once

#include <cstddef>

#include "stitch/vector_types.h"

typedef struct CUstream_st* cudaStream_t;

namespace stitch_emulated {

struct Kernel {
  const void* function;  // its address, the key of cudaFuncSetAttribute
  const char* name;      // as the launch spells it
  void (*invoke)(const void* function, void* const* arguments);
  const unsigned* sizes;  // of each argument, in bytes
  unsigned count;
  bool exact;  // the sizes are the parameters'; otherwise those of what was passed
};

struct LaunchConfig {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false;
  unsigned cluster = 1;  // neighbouring blocks that run together and see each other's shared memory
};

}  // namespace stitch_emulated
