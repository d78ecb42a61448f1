// passed
// Host memory that comes and goes with each call, and a table that is made in the first.
#include <vector>

#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static std::vector<float>* table = new std::vector<float>(columns, 1.0f);
  std::vector<float> copy(*table);
  copy.push_back(2.0f);
  last_error = copy.size() == 3 ? "no" : "";
  return honest(x, weight, y, stream);
}
