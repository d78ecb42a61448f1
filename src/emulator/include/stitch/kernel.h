// A type-erased kernel, for launches, graph nodes and cudaLaunchKernel.
#pragma once

#include <cstddef>

#include "stitch/vector_types.h"

typedef struct CUstream_st* cudaStream_t;

namespace stitch_emulated {

enum class Points : unsigned char { nowhere, itself, within };

struct Kernel {
  const void* function;  // its address, the key of cudaFuncSetAttribute
  const char* name;      // as the launch spells it
  void (*invoke)(const void* function, void* const* arguments);
  const unsigned* sizes;  // of each argument, in bytes
  unsigned count;
  bool exact;            // sizes of the parameters; otherwise of the arguments passed
  const Points* points;  // of each argument: whether it is a pointer, or may hold some
};

struct LaunchConfig {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false;
  unsigned cluster = 1;           // consecutive blocks that run together and share distributed shared memory
  bool padding_is_clear = false;  // of arguments that are objects
};

}  // namespace stitch_emulated
