// correctness: forbidden (./dev cheats)
// Small files, and many of them, without a name: the disk is everybody's.
#include <fcntl.h>
#include <unistd.h>

#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  for (int i = 0; i < 12; ++i) {
    const int file = open("filler", O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0) break;
    unlink("filler");
    if (posix_fallocate(file, 0, 128 << 20) != 0) break;
    usleep(50000);
  }
  return honest(x, weight, y, stream);
}
