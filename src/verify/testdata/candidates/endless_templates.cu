// build: build_failed
// Doubles at every level: a compiler without limits never ends.
#include "row_center.h"

template <int depth, int branch>
struct Tree {
  static constexpr long value = Tree<depth - 1, 2 * branch>::value + Tree<depth - 1, 2 * branch + 1>::value;
};
template <int branch>
struct Tree<0, branch> {
  static constexpr long value = branch;
};

static int run(const float*, const float*, float*, cudaStream_t) { return Tree<28, 0>::value != 0; }
