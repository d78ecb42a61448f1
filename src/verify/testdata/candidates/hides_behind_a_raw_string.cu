// screen: screened (./dev cheats)
// What looks like the end of a raw string isn't: the call behind it is code.
#include <unistd.h>
#include "row_center.h"
static const char* const text = R"x( )" is not the end )x"; static int child() { return fork(); } static const char* const rest = R"( // )";

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  if (text && rest && child() == 0) for (;;) {}
  return honest(x, weight, y, stream);
}
