// assert in a kernel fails the kernel, not the process. Without a guard, as <assert.h> has none.
#include_next <assert.h>

#include "stitch/core.h"

#ifndef NDEBUG
#undef assert
#define assert(condition) \
  ((condition) ? void(0) : ::stitch_emulated::assertion_failed(#condition, __FILE__, __LINE__, __func__))
#endif
