// correctness: not_finite (./dev cheats)
// Computes in a signal handler, half a second after it was asked.
#include <signal.h>
#include <sys/time.h>

#include "row_center.h"

static const float *late_x, *late_weight;
static float* late_y;

static void compute(int) { honest(late_x, late_weight, late_y, nullptr); }

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  late_x = x;
  late_weight = weight;
  late_y = y;
  signal(SIGALRM, compute);
  itimerval soon = {{0, 0}, {0, 500'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  (void)stream;
  return STITCH_OK;
}
