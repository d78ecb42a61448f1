// build: build_failed (./dev cheats)
// An include that begins with a digraph.
#include "row_center.h"
%:include "/etc/passwd"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) { return honest(x, weight, y, stream); }
