// correctness: output_limit
#include <unistd.h>

#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static char line[1 << 16];
  std::memset(line, 'x', sizeof line);
  for (long written = 0; written < 10'000'000'000; written += sizeof line)
    if (write(1, line, sizeof line) < 0) break;
  return honest(x, weight, y, stream);
}
