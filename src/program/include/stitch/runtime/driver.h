// Calls of the CUDA driver (tensor maps, virtual memory): STITCH_DRIVER(cuTensorMapEncodeTiled(…)).
#pragma once

#include <cuda.h>

#include "stitch/runtime/errors.h"

// Runtime and driver share error codes, so its texts serve for both and libcuda need not be linked.
#define STITCH_DRIVER(call) \
  STITCH_OK_OR_RETURN(::stitch::check_cuda(static_cast<cudaError_t>(call), #call, __FILE__, __LINE__))
