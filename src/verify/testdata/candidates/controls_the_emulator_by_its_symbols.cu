// build: build_failed
// The emulated GPU's own settings, by the names that its runtime has inside.
#include "row_center.h"

namespace stitch_emulated {
struct Settings;
Settings& settings();
}  // namespace stitch_emulated

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return &stitch_emulated::settings() ? honest(x, weight, y, stream) : STITCH_DEVICE_ERROR;
}
