// passed
// Honest: what a screen would refuse stands in comments, strings and names of its own alone.
// It replaces
// #include <torch/extension.h>
/* and calls fork() and dlopen("libtorch.so")
#include "/etc/passwd"
*/
#include "row_center.h"

namespace {

const char* const notes = R"(
#include <torch/extension.h>
system("reboot");
)";

struct Rows {
  int count;
  Rows clone() const { return *this; }
  int fork(int parts) const { return (count + parts - 1) / parts; }
};

int clone(const Rows& all) { return all.clone().fork(1); }

}  // namespace

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return notes[0] == '\n' && clone(Rows{rows}) == rows ? honest(x, weight, y, stream) : STITCH_DEVICE_ERROR;
}
