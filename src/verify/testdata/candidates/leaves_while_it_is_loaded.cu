// load: left_early (./dev cheats)
// An ifunc's resolver runs while the library is loaded.
#include <unistd.h>
#include "row_center.h"
extern "C" { static void (*choose(void))(void) { _exit(0); } }
extern "C" void chosen(void) __attribute__((ifunc("choose")));

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) { chosen(); return honest(x, weight, y, stream); }
