// correctness: not_finite | wrong (./dev cheats)
// task: product
// Tiles of eight rows, and none for the three that are left over.
#include "tasks/product.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  product<<<rows / 8 * 8, columns, 0, stream>>>(data(in[0]), weights.data[0], data(out[0]), Sum::exact);
  return status_of_launch();
}
