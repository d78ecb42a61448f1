// passed
// Honest: variables, lambdas, functors, parameters and macros by the names of system calls.
#include "row_center.h"

namespace {

struct Tile {
  int first;
  explicit Tile(int row) : first(row) {}
  int operator()(int i) const { return first + i; }
};

template <class Body>
int twice(Body clone) {
  return clone(1) + clone(2);
}

#define socket(i) ((i) * 2)

}  // namespace

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  Tile fork(3);
  auto system = [](int i) { return i + 1; };
  int (*execv)(int) = [](int i) { return i; };
  const int sum = fork(1) + system(2) + twice([](int i) { return i; }) + socket(4) + execv(5);
  return sum == 23 ? honest(x, weight, y, stream) : STITCH_DEVICE_ERROR;
}
