// Error codes of API calls.
#pragma once

#include <string>

#include "stitch/host_api.h"
#include "stitch_emulated.h"

namespace stitch_emulated {

// Not for programs to link.
#pragma GCC visibility push(hidden)
// Sets what cudaGetLastError returns on this thread.
cudaError_t remember(cudaError_t error);
// The error of a failed kernel: returned by every later call until cudaDeviceReset.
cudaError_t sticky_error();
void break_device(cudaError_t error);
void mend_device();
void set_report(std::string text);
#pragma GCC visibility pop

}  // namespace stitch_emulated

// The start of an API call: returns the sticky error.
#define STITCH_API()                                                         \
  do {                                                                       \
    if (cudaError_t stuck = ::stitch_emulated::sticky_error()) return stuck; \
  } while (false)
