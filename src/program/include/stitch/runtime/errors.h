// Failures inside a program: a status and a message for stitch_last_error. No exceptions cross the C ABI.
#pragma once

#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "stitch/program.h"

namespace stitch {
// Hidden, so that two programs in one process never share it.
__attribute__((visibility("hidden"))) inline thread_local char last_error_text[1024] = "";

__attribute__((format(printf, 2, 3))) inline StitchStatus fail(StitchStatus status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(last_error_text, sizeof last_error_text, format, arguments);
  va_end(arguments);
  return status;
}

inline StitchStatus status_of(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return STITCH_OK;
    case cudaErrorMemoryAllocation: return STITCH_OUT_OF_MEMORY;
#if !STITCH_EMULATED
    case cudaErrorNoKernelImageForDevice:
#endif
    case cudaErrorInvalidDeviceFunction: return STITCH_UNSUPPORTED;
    default: return STITCH_DEVICE_ERROR;
  }
}

inline const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

inline StitchStatus check_cuda(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return STITCH_OK;
  (void)cudaGetLastError();  // reported: the caller's next check must not see it
  return fail(status_of(error), "%s:%d: %s: %s (%s)", base_name(file), line, call, cudaGetErrorString(error),
              cudaGetErrorName(error));
}

// The body of an ABI function: exceptions become a status.
template <class Body>
int without_exceptions(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(STITCH_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception& error) {
    return fail(STITCH_DEVICE_ERROR, "%s", error.what());
  }
}

}  // namespace stitch

// STITCH_OK_OR_RETURN(launch(…)): returns any status but STITCH_OK.
#define STITCH_OK_OR_RETURN(expression)                                                              \
  do {                                                                                               \
    if (StitchStatus stitch_status = (expression); stitch_status != STITCH_OK) return stitch_status; \
  } while (false)

// STITCH_CUDA(cudaMalloc(…)): a CUDA runtime call that must succeed.
#define STITCH_CUDA(call) STITCH_OK_OR_RETURN(::stitch::check_cuda((call), #call, __FILE__, __LINE__))
